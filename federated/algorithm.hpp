// The slot for algorithms: an algorithm is one source file, federated/algorithms/KIND.cpp, and one line of the table in
// federated/algorithms/table.cpp; a program of its own adds one with register_algorithm(). Nothing else names it.
//
// An algorithm says what a client does with a task (train), what it does before the model predicts for it
// (personalize), and how much work a task is (plan). What else the project must know of it are its traits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "federated/algorithm_traits.hpp"
#include "federated/tensor_groups.hpp"
#include "models/model.hpp"

namespace furlong::federated {

struct aggregate;
struct experiment;
struct run_settings;
struct server_view;
class local_task;
class personal_task;

/// The kind of client that the model predicts for.
struct client_kind {
  bool trains = true;      ///< it may be selected for training
  bool has_state = false;  ///< its private values were trained before, and loaded
  bool known = true;       ///< a client of the population; else somebody new, known by the examples given alone
};

/// Where the personal parameters of a prediction came from.
enum class personal_source : std::uint8_t {
  stored,         ///< the client's private store
  reconstructed,  ///< from the client's examples
  model,          ///< the shared model has all there is
  initial,        ///< the values before any training
  tuned,          ///< the model's, stored or reconstructed ones, trained further on the client's examples
};
[[nodiscard]] std::string_view to_string(personal_source source);

/// Immutable; shared by all threads of a run.
class algorithm {
 public:
  virtual ~algorithm() = default;

  /// Tensors that the algorithm adds to those of a model; default: none.
  [[nodiscard]] virtual std::vector<tensor_group> tensors(const models::model& model,
                                                          const models::partition& parts) const;
  /// Whether updates carry the change of the model's shared tensors. Else what clients report are groups alone.
  [[nodiscard]] virtual bool sends_model() const { return true; }

  /// Examples that a task of a client with `count` examples processes: what simulated time is computed from. It may not
  /// depend on what the client has stored.
  [[nodiscard]] virtual std::uint64_t plan(const run_settings& settings, std::uint64_t count) const = 0;
  /// Most examples that the update of a client with `count` examples may count for; default: those of local SGD.
  [[nodiscard]] virtual std::uint64_t most_weight(const run_settings& settings, std::uint64_t count) const;
  /// Moves task.weights() from the broadcast model to what the client reports the difference of.
  virtual void train(local_task& task) const = 0;
  /// Moves the server's values by what a round's updates amount to. Default: the server optimizer moves the model, and
  /// shared groups move by their aggregate.
  virtual void step(server_view& server, const aggregate& of) const;

  /// Whether personalize() looks at the client's own examples.
  [[nodiscard]] virtual bool personalizes_from_examples(const experiment& e, const client_kind& who) const;
  /// Leaves the weights that predict for a client in the task's working set. Default, from the traits: private tensors
  /// are the stored ones; or reconstructed, where training does so too; for clients that never train the tensors of
  /// evaluation.reconstruct are; where shared tensors are among those, they are fine-tuned for every client.
  virtual personal_source personalize(personal_task& task, const client_kind& who) const;
};

/// A scenario while it is checked, as an algorithm sees it.
class scenario_view {
 public:
  virtual ~scenario_view() = default;
  [[nodiscard]] virtual const option_values& given() const = 0;
  /// The key has a value and no problem so far.
  [[nodiscard]] virtual bool is_good(std::string_view key) const = 0;
  /// The file or the command line gives it another value than the default.
  [[nodiscard]] virtual bool is_changed(std::string_view key) const = 0;
  /// Adds a problem at a key: the reason, and the fix.
  virtual void report(const std::string& key, std::string why, std::string fix) = 0;
  virtual void note(std::string text) = 0;
};

/// A key of another table whose value the algorithm decides. A scenario that says otherwise gets a note with `why`, or
/// where that is empty an error.
struct fixed_value {
  std::string key;
  std::string value;
  std::string why = {};
};

/// One line of the table: how scenarios name, configure and build an algorithm.
struct algorithm_entry {
  std::string kind;
  std::string doc;                        ///< a sentence or two, with the paper
  std::vector<option_spec> options = {};  ///< keys algorithm.KIND.NAME
  algorithm_traits traits = {};
  std::vector<fixed_value> fixed = {};
  /// Combinations of keys that make no sense, where the traits do not say so; empty: none.
  std::function<void(scenario_view&)> check = {};
  /// The options have been checked against `options`.
  std::function<result<std::shared_ptr<const algorithm>>(const option_values&)> build = {};
  std::string alias_of = {};  ///< another kind, with `fixed`; then all else but `doc` is that kind's
};

/// All algorithms: the built-in ones and those registered since, in that order. Not to be called while others register.
[[nodiscard]] const std::vector<algorithm_entry>& registered_algorithms();
/// Adds an algorithm of another library; a kind that is taken is replaced. Call before scenarios are read, from one
/// thread, in every process of a federation.
void register_algorithm(algorithm_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const algorithm_entry* find_algorithm(std::string_view kind);

}  // namespace furlong::federated
