// The start of a run and the end of a round: the server's arithmetic, shared by all engines.
#pragma once

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/rounds/run_observer.hpp"
#include "federated/rounds/server_optimizer.hpp"

namespace furlong::federated {

/// The state before the first round.
[[nodiscard]] server_state initial_state(const experiment& e);

/// A client's report as the server counts it, without an outcome yet.
/// @param bytes encoded size of the update, if known
[[nodiscard]] settlement settlement_of(const experiment& e, const client_update& update,
                                       std::optional<std::uint64_t> bytes = std::nullopt);
/// Validates an update and adds it to the sum, with accumulator::fold's `freshness`. Returns the reason if it is
/// rejected. Sets in `made` the outcome, the size and, with evaluation.attention, the distances. With norm_bound =
/// "clip" an update that started before a limit was known is measured, and adds nothing (is_only_measured()).
[[nodiscard]] std::optional<rejection> aggregate_update(const experiment& e, const client_update& update,
                                                        const update_bounds& bounds, double freshness, accumulator& sum,
                                                        settlement& made);
/// The verdict on an update, of a process that does not know what becomes of it: as aggregate_update() makes it with
/// freshness 1.
/// @param start its start version
/// @param sum what it is added to, or an empty one to try whether the rule takes it; null: the rule takes all
///            (rule_traits::takes_all), and nothing is added
[[nodiscard]] settlement assess_update(const experiment& run, const client_update& update, const broadcast& start,
                                       accumulator* sum);
/// Whether an update with this verdict changes a sum.
[[nodiscard]] bool adds_to_sum(const experiment& run, const client_update& update, const broadcast& start,
                               const settlement& made);
/// Whether updates with these limits of their start version add nothing to the sum.
[[nodiscard]] bool is_only_measured(const run_settings& settings, const update_limits& limits);
/// Counts the outcome of a task and, if a report of its client `arrived`, that report. Aggregated updates are counted
/// by close_round().
void count_settlement(const experiment& e, const settlement& made, bool arrived, server_state& state,
                      round_report& report);

/// Statistics of a round's updates besides the aggregate.
class round_facts {
 public:
  explicit round_facts(const experiment& e) : e_(&e) {}
  /// An update that was aggregated or rejected.
  /// @param limits of its start version
  void add(const settlement& made, const update_limits& limits);
  /// Why the round must be abandoned for the sizes of its updates, if it must (size_fault). With norm_bound = "clip",
  /// updates that started before a limit was known are not in the sum: `unknown` if it has no others.
  [[nodiscard]] size_fault fault(const server_state& state) const;

  [[nodiscard]] const size_counts& sizes() const { return sizes_; }
  /// Number of updates of clients with examples that were aggregated, or would have been if the round had not been
  /// abandoned.
  [[nodiscard]] std::uint64_t sound() const { return losses_.size(); }
  /// The median over the clients; nothing if no client had an example.
  [[nodiscard]] std::optional<double> median_loss() const;
  /// The weights of the updates that have distances; nothing if none has.
  [[nodiscard]] std::optional<attention_weights> attention() const;

 private:
  const experiment* e_;
  size_counts sizes_;
  size_counts unlimited_;  ///< of these, in the sum and accepted without a limit
  bool any_limited_ = false;
  std::vector<double> losses_;
  std::vector<std::pair<std::uint32_t, std::vector<float>>> distances_;  ///< by client
};
/// The reason that is recorded for a round that was abandoned for a fault of sizes.
[[nodiscard]] std::string to_string(size_fault fault);

/// Ends a round: adds the server's noise and runs the algorithm's step, by default the optimizer. A round that was
/// abandoned (`report.gave_up`) and an unusable aggregate leave the model unchanged; the version still advances.
/// Completes `report`, whose counts the caller has filled in; adds those of aggregated and abandoned updates, and its
/// bytes, to those of `state`. The optimizer's state is not copied into `state`. A divergence (divergence.hpp) is
/// recorded in `state` and ends the run.
/// Throws models::model_failure as the step does, and if the rule's constants are not as many as those of the first
/// round: model, added tensors and optimizer are then as before, and the
/// version is not made.
void close_round(const experiment& e, server_state& state, server_optimizer& optimizer, aggregate& round,
                 round_report& report, const round_facts& facts);

/// After an evaluation of the last model: records when evaluation.target was first reached and, with evaluation.select
/// = "best", the model of the best validation figure. The first of equal figures is kept; figures that are not finite
/// never are. Progress for scenario.until.patience is recorded by the same figure, and a divergence (divergence.hpp).
/// Figures are those of the clients with a finite score.
void note_evaluation(const experiment& e, server_state& state, const evaluation_report& figures);

/// Identifies the scoring method: figures of different methods cannot be compared.
[[nodiscard]] std::string scoring_id(const evaluation_settings& how);
/// Identifies evaluation.target and its scoring method.
[[nodiscard]] std::string target_id(const evaluation_settings& how);

/// A run may be resumed under another evaluation than that of its last life: forgets a target that was reached when it
/// is not the one that is asked for now, a best model when none is, progress by another figure or scoring, and under
/// another scoring that evaluations were better than a constant prediction.
void reset_for_evaluation(const evaluation_settings& how, server_state& state);

/// The validation figure by which models are compared: evaluation.metric, else that of evaluation.target.metric, else
/// the loss.
[[nodiscard]] std::string selection_metric(const evaluation_settings& settings);

}  // namespace furlong::federated
