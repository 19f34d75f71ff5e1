// The slot for algorithms: an algorithm is one source file, federated/algorithms/KIND.cpp, and one line of the table in
// federated/algorithms/table.cpp; another program adds one with register_algorithm(). No other source names it.
//
// An algorithm defines what a client does with a task (train), before the model predicts for it (personalize), and how
// much work a task is (plan). Its traits state what the rest of the project must know.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "federated/experiment/tensor_groups.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "models/model.hpp"
#include "models/parameters.hpp"

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
  bool has_state = false;  ///< private values from earlier training are loaded
  bool known = true;       ///< a client of the population; false: a new user, known by the given examples only
};

/// Where the personal parameters of a prediction came from.
enum class personal_source : std::uint8_t {
  stored,         ///< the client's private store
  reconstructed,  ///< from the client's examples
  model,          ///< all parameters are in the shared model
  initial,        ///< the values before any training
  tuned,          ///< those of the model, stored or reconstructed, trained further on the client's examples
};
[[nodiscard]] std::string_view to_string(personal_source source);

/// A figure that an algorithm computes of a round.
struct round_figure {
  std::string name;
  double value = 0.0;
};

/// Immutable; shared by all threads of a run.
class algorithm {
 public:
  virtual ~algorithm() = default;

  /// Tensors that the algorithm adds to those of a model; default: none.
  [[nodiscard]] virtual std::vector<tensor_group> tensors(const models::model& model,
                                                          const models::partition& parts) const;
  /// True if updates carry the delta of the model's shared tensors; false: clients report tensor groups only.
  [[nodiscard]] virtual bool sends_model() const { return true; }

  /// Sets values of tensors on the server before the first round, where no first_value says them; the others are set.
  /// Default: none.
  virtual void set_first_values(const experiment& /*e*/, const models::shared_parameters& /*model*/,
                                models::shared_parameters& /*added*/) const {}

  /// Examples that a task of a client with `count` examples processes; simulated time is computed from it. It must not
  /// depend on what the client has stored.
  [[nodiscard]] virtual std::uint64_t plan(const run_settings& settings, std::uint64_t count) const = 0;
  /// Largest weight of an update of a client with `count` examples; default: that of local SGD.
  [[nodiscard]] virtual std::uint64_t most_weight(const run_settings& settings, std::uint64_t count) const;
  /// Trains task.weights(), which starts as the broadcast model; the client reports the difference.
  virtual void train(local_task& task) const = 0;
  /// Applies a round's aggregate to the server's values. Default: the server optimizer updates the model, and shared
  /// groups add their aggregate. One that computes outside of this process may throw a models::model_failure, before it
  /// has changed anything.
  virtual void step(server_view& server, const aggregate& of) const;

  /// Figures of a round by name, from what its clients reported; default: none. Called before step().
  [[nodiscard]] virtual std::vector<round_figure> figures(const server_view& server, const aggregate& round) const;

  /// True if personalize() uses the client's own examples.
  [[nodiscard]] virtual bool personalizes_from_examples(const experiment& e, const client_kind& who) const;
  /// Sets the weights that predict for a client in the task's working set. Default, from the traits: private tensors
  /// are the stored ones, or are reconstructed if training reconstructs them. For clients that never train, the tensors
  /// of evaluation.reconstruct are reconstructed; shared tensors among them are fine-tuned for every client.
  virtual personal_source personalize(personal_task& task, const client_kind& who) const;
  /// Adds the scores of examples of a client (models::model::score), where they are no prediction of a set of weights.
  /// Default: false, nothing is added, and personalize() finds the weights that are scored.
  virtual bool score(personal_task& /*task*/, const client_kind& /*who*/, const models::examples_view& /*asked*/,
                     models::class_scores& /*to*/) const {
    return false;
  }
  /// Replaces scores of items, where they are no prediction of a set of weights: called when items are ranked for a
  /// client, after personalize() and models::model::predict(). Default: they stay.
  /// @param items their numbers in the data, one per score
  virtual void rescore(personal_task& /*task*/, std::span<const std::uint32_t> /*items*/,
                       std::span<float> /*scores*/) const {}
};

/// A scenario under validation, as an algorithm sees it.
class scenario_view {
 public:
  virtual ~scenario_view() = default;
  [[nodiscard]] virtual const option_values& given() const = 0;
  /// The key has a value and no problem so far.
  [[nodiscard]] virtual bool is_good(std::string_view key) const = 0;
  /// The file or the command line sets a value other than the default.
  [[nodiscard]] virtual bool is_changed(std::string_view key) const = 0;
  /// Reports a problem with a key: the reason and the fix.
  virtual void report(const std::string& key, std::string why, std::string fix) = 0;
  virtual void note(std::string text) = 0;
};

/// A key of another table whose value the algorithm decides. A scenario with another value gets the note `why`, or an
/// error if `why` is empty.
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
  /// The traits, where they follow from the options: of an algorithm that is written elsewhere. Empty: `traits`. Fails
  /// if an option is not understood. What keeps private tensors is not among these traits: private tensors do.
  std::function<result<algorithm_traits>(const option_values&)> traits_of = {};
  /// Takes further keys algorithm.KIND.NAME, truth values, numbers and texts: of the program that it is written in.
  bool has_open_keys = false;
  std::vector<fixed_value> fixed = {};
  /// Checks combinations of keys that the traits do not cover; empty: none.
  std::function<void(scenario_view&)> check = {};
  /// The options have been checked against `options`.
  std::function<result<std::shared_ptr<const algorithm>>(const option_values&)> build = {};
  /// Those of the options that list tensors of the model: unknown names are reported, and patterns replaced by what
  /// they match.
  std::vector<std::string> tensor_options = {};
  /// Changes whenever its results may: runs are not resumed, and federations not joined, with another one. One word,
  /// such as "1.2". Empty: that of the program (registered entries), or furlong's (built-in ones).
  std::string version = {};
  std::string alias_of = {};  ///< an alias of this kind with `fixed`; only `doc` differs otherwise
};

/// All algorithms: the built-in ones, then the registered ones in order. Do not call during registration.
[[nodiscard]] const std::vector<algorithm_entry>& registered_algorithms();
/// Adds an algorithm, or replaces that of the same kind. Call before scenarios are read, from one thread, in every
/// process of a federation. Throws std::invalid_argument when it cannot be built, when one of its tensor_options is no
/// option that is a list of texts, when it requires private tensors that its traits discard, and as check_options().
/// Keys of `fixed` and of the traits' defaults are checked when a scenario is read.
void register_algorithm(algorithm_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const algorithm_entry* find_algorithm(std::string_view kind);

}  // namespace furlong::federated
