// A dataset of a scenario: a kind, documented options, and a builder of a population.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "federated/experiment/population.hpp"
#include "models/model.hpp"

namespace furlong::scenarios {

class text_reader;
class trainer_problem;

/// Files of source code by name, each with the SHA-256 of its content in hex.
using source_code = std::map<std::string, std::string>;
/// The entry of the values that a module has and that are not trained. They follow from the code and the seed.
inline constexpr const char* fixed_values = "fixed values of module()";
/// The files that differ, as "a.py, b.py"; empty: none.
[[nodiscard]] std::string changed_files(const source_code& before, const source_code& now);
/// A line for each file, and back; lines that are not understood are left out.
[[nodiscard]] std::string code_text(const source_code& code);
[[nodiscard]] source_code code_from(const std::string& text);

/// A loaded dataset.
struct dataset {
  std::shared_ptr<const federated::population> clients;
  std::shared_ptr<const models::model> model;      ///< that comes with the data; null: the scenario describes it
  std::shared_ptr<const trainer_problem> problem;  ///< of another program, that `model` is of; null: none
  float label_low = -std::numeric_limits<float>::infinity();  ///< the range of ratings, to clip predictions
  float label_high = std::numeric_limits<float>::infinity();
  std::optional<double> binarize;            ///< labels became 1 at or above this rating, else 0
  std::vector<std::uint32_t> item_ids;       ///< rating data: the original id of each feature, ascending; else empty
  std::vector<std::string> item_names;       ///< the same where ids are texts, in any order; else empty
  std::vector<std::string> classes;          ///< names of the classes, if labels are named classes
  std::shared_ptr<const text_reader> texts;  ///< reads further texts in the same way as the dataset's; null: no texts
  std::vector<std::filesystem::path> files;  ///< the files read, in a fixed order; empty for generated data
  bool whole = true;                         ///< has the examples of all clients; otherwise of some, or of none
  std::vector<std::string> notes;            ///< notes for people, a line each
  source_code code;                          ///< that computes the data or the model; empty: none but this program's
  std::string arithmetic;  ///< what that code's results depend on, such as "torch 2.4.1, NVIDIA H100"; empty: unknown
};

/// The id of an item, which the data must have.
[[nodiscard]] std::string item_id(const dataset& data, std::uint32_t feature);
/// The feature of each of these ids; nothing where the data have no such item.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> items_named(const dataset& data,
                                                                    const std::vector<std::string>& ids);

/// A problem of one option, found before any data is read.
struct option_problem {
  std::string name;  ///< as in the entry's options
  std::string why;
  std::string fix;
};

/// A registry entry: how scenarios name, configure and build a dataset. An option name with a dot is in a nested table:
/// "unseen_users.test".
struct dataset_entry {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options;
  std::string table = "data";  ///< that contains the options
  /// Defaults of keys of other tables, with these data.
  std::vector<std::pair<std::string, option_value>> defaults = {};
  /// Checks combinations that the specs cannot express; may be null. The options have passed `options`.
  std::function<std::vector<option_problem>(const option_values&)> check;
  /// A nested table whose keys only the data know: "options"; empty: none. Its values are truth values, numbers and
  /// texts, options named "options.KEY".
  std::string open_table = {};
  /// The values of open_table that have an effect, including those that are not given. Called after a check without
  /// problems; may be null.
  std::function<option_values(const option_values&)> settle = {};
  /// Facts of the data that follow from the options, so that a model can be checked before the data are read: the
  /// meaning of labels, whether features are tokens (`words` above 0), and plausible numbers for unknown ones; features
  /// and clients may then be 0. Null: ratings.
  std::function<models::data_facts(const option_values&)> facts;
  /// The source code that computes the data or the model, without fixed_values; null: there is none but this program's.
  std::function<source_code(const option_values&)> code = {};
  /// The model that comes with the data, null if the options do not name it; null for other data.
  std::function<std::shared_ptr<const models::model>(const option_values&)> model = {};
  /// The kind of algorithm that may come with the data: its further keys (algorithm_entry::has_open_keys) are options
  /// "algorithm.NAME", and which one it is the option "algorithm" says. Empty: none.
  std::string algorithm = {};
  /// The options of such an algorithm's entry as its program describes it, nothing if it cannot; null with `algorithm`.
  std::function<std::optional<option_values>(const option_values&)> describe_algorithm = {};
  /// Its files may have separate validation and test parts: `split` and `unseen_users` do not determine whether such
  /// parts exist.
  bool has_own_parts = false;
  /// Reads or generates the data. `root` is the folder that contains datasets. The option "path" locates the files:
  /// nodes set it themselves and do not accept a server's, like every option that is beside_file.
  std::function<result<dataset>(const option_values&, const std::filesystem::path& root)> build;
  /// For data that only nodes have: the server's view, clients without examples; otherwise null.
  std::function<dataset(const option_values&)> outline = {};
  /// For such data: a node's view, the examples of clients first to last in its folder; otherwise null.
  std::function<result<dataset>(const option_values&, const std::filesystem::path& folder, std::uint32_t first,
                                std::uint32_t last)>
      build_part = {};
  /// Approximate memory in bytes, however small the files are, known before building; null: negligible.
  std::function<double(const option_values&)> memory = {};
  /// Changes whenever its results may: runs are not resumed, and federations not joined, with another one. One word,
  /// such as "1.2". Empty: that of the program (registered entries), or furlong's (built-in ones).
  std::string version = {};
};

/// An option for a seed, by default that of the run.
[[nodiscard]] option_spec seed_option(std::string name, std::string doc);
/// Appends a list of options.
void add_options(std::vector<option_spec>& options, std::vector<option_spec> more);

/// All datasets: built-in and registered ones. Not concurrent with registration.
[[nodiscard]] const std::vector<dataset_entry>& registered_datasets();
/// Adds a dataset of another library; replaces an existing kind. Call before scenarios are read, from one thread. What
/// it builds is checked once, example by example (checked_dataset.hpp). Throws std::invalid_argument when it cannot be
/// built, and as check_options(); "source" is taken in [data].
void register_dataset(dataset_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const dataset_entry* find_dataset(std::string_view kind);

/// The folder that contains datasets: $FURLONG_DATA, else "data" in the working directory.
[[nodiscard]] std::filesystem::path data_root();

}  // namespace furlong::scenarios
