// How a run begins and how a round is closed: the server's arithmetic, shared by every engine.
#pragma once

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment.hpp"
#include "federated/run_observer.hpp"
#include "federated/server_optimizer.hpp"

namespace furlong::federated {

/// The state before the first round.
[[nodiscard]] protocol::server_state initial_state(const experiment& e);

/// A model as clients get it: with the tensors of the algorithm that they get beside it, and rounded where
/// network.compression says so.
[[nodiscard]] models::shared_parameters sent_model(const experiment& e, const protocol::model_version& of);
/// The model of the state's version as clients get it.
[[nodiscard]] broadcast make_broadcast(const experiment& e, const protocol::server_state& state);
/// The same of an earlier version.
[[nodiscard]] broadcast make_broadcast(const experiment& e, const protocol::server_state& state,
                                       const protocol::model_version& of);

/// Encoded size of a task and a broadcast, for the books.
[[nodiscard]] std::uint64_t sent_bytes(const experiment& e, const broadcast& from);

/// What a round's updates tell beside what is aggregated of them.
class round_facts {
 public:
  explicit round_facts(const experiment& e) : e_(&e) {}
  /// An update that only an adaptive limit refused, if anything did.
  void add_size(const update_size& size);
  /// One that was aggregated; `loss`: its mean per example.
  void add_aggregated(const update_size& size, double loss);
  /// Whether the round is to be abandoned: no limit was known yet, and one of its updates is beyond the limit that all
  /// of them set.
  [[nodiscard]] bool has_outlier(const protocol::server_state& state) const;

  [[nodiscard]] const size_counts& sizes() const { return sizes_; }
  /// The median over the clients; nothing where nobody had an example.
  [[nodiscard]] std::optional<double> median_loss() const;

 private:
  const experiment* e_;
  size_counts sizes_;
  std::vector<double> losses_;
};
/// What is written down of a round that has_outlier().
constexpr const char* outlier_text = "an update is far larger than the others, and no limit was known yet";

/// Ends a round: adds the server's noise and lets the algorithm move the model, by default with the optimizer. An
/// unusable aggregate leaves the model as it was; the version advances all the same. Completes `report`, whose counts
/// the caller has filled in; those of `state` are the caller's too. The optimizer's state is not copied into `state`. A
/// run whose model is not finite, or whose training loss is beyond scenario.diverged_at, has diverged: `state` says so,
/// and is over.
void close_round(const experiment& e, protocol::server_state& state, server_optimizer& optimizer, aggregate& round,
                 round_report& report, const round_facts& facts);

/// The last model was evaluated: remembers when evaluation.target was first reached and, with evaluation.select =
/// "best", the model of the best validation figure. Of equal figures the first counts; one that is not finite never.
/// A loss that is not finite, or beyond scenario.diverged_at, is remembered as a divergence.
void note_evaluation(const experiment& e, protocol::server_state& state, const evaluation_report& figures);

/// Identifies how clients are scored: figures of different ways cannot be compared.
[[nodiscard]] std::string scoring_id(const evaluation_settings& how);
/// Identifies evaluation.target and how clients are scored for it.
[[nodiscard]] std::string target_id(const evaluation_settings& how);

/// A run may be resumed under another evaluation than that of its last life: forgets a target that was reached when it
/// is not the one that is asked for now, and a best model when none is.
void reset_for_evaluation(const evaluation_settings& how, protocol::server_state& state);

/// The validation figure that evaluation.select = "best" goes by: that of evaluation.target.metric, else the loss.
[[nodiscard]] std::string selection_metric(const evaluation_settings& settings);

}  // namespace furlong::federated
