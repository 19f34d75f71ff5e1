// What a dataset is to a scenario: a kind, documented options, and a builder of a population.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "federated/population.hpp"
#include "models/model.hpp"

namespace furlong::scenarios {

class text_reader;

/// A loaded dataset.
struct dataset {
  std::shared_ptr<const federated::population> clients;
  std::shared_ptr<const models::model> model;  ///< that comes with the data; null: the scenario describes it
  float label_low = 1.0F;                      ///< the range of the labels, for clipping predictions
  float label_high = 5.0F;
  std::optional<double> binarize;            ///< labels became 1 at or above this rating, else 0
  std::vector<std::uint32_t> item_ids;       ///< rating data: the original id of each feature, ascending; else empty
  std::vector<std::string> classes;          ///< names of the classes, where labels are classes that have names
  std::shared_ptr<const text_reader> texts;  ///< reads further texts as its own; null: it has no texts
  std::vector<std::filesystem::path> files;  ///< that it was read from, in a fixed order; generated data have none
  bool whole = true;                         ///< it has the examples of all clients; else of some, or of none
  std::vector<std::string> notes;            ///< what is worth knowing of it, a line each, for people
};

/// Something wrong with one option, found before any data is read.
struct option_problem {
  std::string name;  ///< as in the entry's options
  std::string why;
  std::string fix;
};

/// One line of the registry: how scenarios name, configure and build a dataset. Option names may have a dot, then they
/// stand in a nested table: "unseen_users.test".
struct dataset_entry {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options;
  std::string table = "data";  ///< that the options stand in
  /// Combinations that the specs cannot express; may be null. Options are checked against `options` before.
  std::function<std::vector<option_problem>(const option_values&)> check;
  /// What the options say of the data, so that a model can be checked before they are read: what labels mean, whether
  /// features are tokens (`words` above 0), and plausible numbers of what is not known; features and clients may be 0
  /// for that. Null: ratings.
  std::function<models::data_facts(const option_values&)> facts;
  /// The model that comes with the data, null where the options do not name it; null for data without.
  std::function<std::shared_ptr<const models::model>(const option_values&)> model = {};
  /// Its files may keep validation and test apart: `split` and `unseen_users` do not tell whether there are such parts.
  bool has_own_parts = false;
  /// Reads or generates the data. `root` is where datasets are looked up. Where its files are is the option "path":
  /// nodes say that themselves, and do not believe a server about it.
  std::function<result<dataset>(const option_values&, const std::filesystem::path& root)> build;
  /// Of data that only nodes have: what a server knows of them, clients without examples; else null.
  std::function<dataset(const option_values&)> outline = {};
  /// Of such data: what a node has of them, the examples of clients first to last in its folder; else null.
  std::function<result<dataset>(const option_values&, const std::filesystem::path& folder, std::uint32_t first,
                                std::uint32_t last)>
      build_part = {};
  /// About how many bytes it takes however small its files are, to be known before it is built; null: next to none.
  std::function<double(const option_values&)> memory = {};
};

/// All datasets: the built-in ones and those registered since. Not to be called while others register.
[[nodiscard]] const std::vector<dataset_entry>& registered_datasets();
/// Adds a dataset of another library; a kind that is taken is replaced. Call before scenarios are read, from one
/// thread.
void register_dataset(dataset_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const dataset_entry* find_dataset(std::string_view kind);

/// Where datasets are looked up: $FURLONG_DATA, else "data" in the working directory.
[[nodiscard]] std::filesystem::path data_root();

}  // namespace furlong::scenarios
