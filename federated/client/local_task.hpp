// A task that a client trains, as an algorithm sees it: the tools that algorithm::train() calls.
#pragma once

#include <cstdint>
#include <span>

#include "federated/algorithm.hpp"
#include "federated/client/local_training.hpp"
#include "federated/client/workspace.hpp"
#include "federated/experiment.hpp"
#include "federated/update.hpp"

namespace furlong::federated {

/// One task of one client, on one thread. The working set holds the broadcast model and the client's private values;
/// what training makes of it is the update. Every random stream is keyed by the seed, the client and the model version.
class local_task {
 public:
  /// The arguments must outlive the task; `out` has the task's id.
  local_task(const experiment& e, workspace& use, client_update& out, bool has_state)
      : e_(e), use_(use), out_(out), has_state_(has_state) {}

  [[nodiscard]] const run_settings& settings() const { return e_.settings; }
  /// The tensors of the model: all_tensors, shared_tensors, private_tensors are what the tools below take.
  [[nodiscard]] const models::partition& parts() const { return e_.parts; }
  /// Whether the private values are those that the client kept, not initial ones.
  [[nodiscard]] bool has_state() const { return has_state_; }
  /// [algorithm] client, with the learning rate of this round.
  [[nodiscard]] local_loop client_loop() const;

  /// Shuffles the examples once more; sgd() does so itself where its loop says so.
  void shuffle();
  /// Splits the examples into support and query batches of the client's batch size; without `split` all are both. To be
  /// called again after the examples were shuffled.
  void deal(bool split);
  /// SGD that moves `tensors`; all others are frozen. Dropout applies.
  phase_result sgd(std::span<const std::size_t> tensors, const local_loop& loop);
  /// The same with client_loop() over the query batches, in their order.
  phase_result sgd_on_query(std::span<const std::size_t> tensors);
  /// [algorithm] reconstruction of `tensors` on the support batches, all others frozen. Call it before sgd(): until
  /// then no dropout applies.
  phase_result reconstruct(std::span<const std::size_t> tensors);

  /// The examples of a phase are the weight of the update, its losses the training loss.
  void count(const phase_result& phase);
  /// They are work, and no more: they do not make the update.
  void count_unweighted(const phase_result& phase) { out_.examples += phase.examples; }

 private:
  [[nodiscard]] random_stream stream(purpose what, std::uint32_t part) const;
  void train(std::span<const std::size_t> tensors);

  const experiment& e_;
  workspace& use_;
  client_update& out_;
  bool has_state_;
  std::uint32_t shuffles_ = 0;
  std::uint32_t phases_ = 0;  ///< that trained with dropout
};

}  // namespace furlong::federated
