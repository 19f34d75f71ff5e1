// A task that a client trains, as an algorithm sees it: the tools that algorithm::train() calls.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.hpp"
#include "federated/client/local_values.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::federated {

/// One task of one client, on one thread. The working set holds the broadcast model and the client's private values;
/// what training makes of it is the update. Every random stream is keyed by the seed, the client and the model version.
class local_task final : public local_values {
 public:
  /// The arguments must outlive the task; `out` has the task's id.
  local_task(const experiment& e, const broadcast& from, workspace& use, client_update& out, bool has_state)
      : local_values(e, from.model, out.id.client, use, has_state), out_(out) {}

  [[nodiscard]] const task_id& id() const { return out_.id; }
  /// [algorithm] client, with the learning rate of this round.
  [[nodiscard]] local_loop client_loop() const;
  /// A learning rate in this round, by [algorithm] client.schedule.
  [[nodiscard]] float rate_of_round(float rate) const;

  /// Shuffles the examples once more; sgd() does so itself where its loop says so.
  void shuffle();
  /// The features of the examples, one each, in the orders of a loop's epochs: one order after the other, or one for
  /// all epochs where they are not shuffled. Of epochs that max_steps does not reach there is none. For what trains
  /// elsewhere; valid until examples are gone over again.
  [[nodiscard]] std::span<const std::uint32_t> orders(const local_loop& loop);
  /// Splits the examples into support and query batches of the client's batch size; without `split` all are both. To be
  /// called again after the examples were shuffled.
  void split_support(bool split);
  /// SGD that moves `tensors`, and the buffers that these move (models::moved_buffers); all others are frozen. Dropout
  /// applies.
  phase_result sgd(std::span<const std::size_t> tensors, const local_loop& loop);
  /// The same with terms that are added to the gradient of each step. All gathered rows move, so it takes longer.
  phase_result sgd(std::span<const std::size_t> tensors, const local_loop& loop,
                   std::span<const models::gradient_term> terms);
  /// The same with client_loop() over the query batches, in their order.
  phase_result sgd_on_query(std::span<const std::size_t> tensors);
  /// Plain gradient steps at other values than the weights: `tensors` of them move, with terms as above, and buffers.
  /// Of the loop's step the rate alone counts. Takes scratch(0).
  phase_result sgd_at(models::tensor_values values, std::span<const std::size_t> tensors, const local_loop& loop,
                      std::span<const models::gradient_term> terms);
  /// Goes over the examples as sgd() does and calls step(batch) for each batch: it takes the step, and returns the sum
  /// of the batch's losses. gradient() finds them.
  phase_result each_batch(const local_loop& loop, function_ref<double(const models::examples_view& batch)> step);
  /// Steps on different tensors in turn: for each batch a step of each, whose gradient is taken after those before.
  /// Plain steps, of the options the rate counts. The losses are those before the first step of a batch.
  struct tensor_step {
    std::span<const std::size_t> tensors;
    float rate = 0.0F;
  };
  phase_result sgd_in_turn(const local_loop& loop, std::span<const tensor_step> steps);
  /// The model's predictions of the gathered rows, each as the feature of an example: one value for each row.
  void predict_rows(std::span<float> predictions);
  /// models::model::affine_design at the weights.
  void affine_design(const models::examples_view& batch, std::span<const std::size_t> tensors, std::span<float> x,
                     std::span<float> offset) const {
    e_.model->affine_design(use_.weights.weights(), batch, tensors, x, offset);
  }

  /// What the client reports of a report or shared group: zero at first; of a shared one a change. The i-th tensor.
  [[nodiscard]] models::tensor_values reported(std::size_t g) { return reported_values(g); }
  [[nodiscard]] models::tensor_view reported(std::size_t g, std::size_t i) {
    return view_in(reported_values(g).data, e_.groups[g], i);
  }

  /// The examples of a phase are the weight of the update, its losses the training loss. Of implicit feedback they are
  /// counted by interactions, drawn negatives not. Of a model that computes in
  /// another program no more than the largest weight of a client's update: that may go over the examples more often.
  void count(const phase_result& phase);
  /// The same of examples that are no work: what makes the update, and is to be worked off, is said apart.
  void weigh(std::uint64_t examples, double loss_sum);
  /// They are work, and no more: they do not make the update.
  void count_unweighted(const phase_result& phase) { out_.examples += interactions_of(phase.examples); }
  /// Whether the task has a weight, if only 0, from count() or weigh().
  [[nodiscard]] bool is_weighed() const { return is_weighed_; }

  // For client_work. Before training:
  /// Reconstructs the private tensors from all examples. It is work that plan() does not have, since it is not known in
  /// advance whether the client has kept values.
  void start_cold();
  // After training:
  /// Whether all that the task made is finite: weights, reports and kept tensors.
  [[nodiscard]] bool finite() const;
  /// Appends what is reported of groups to the change of the model.
  void append_reported(models::delta& change);
  /// Writes kept groups to the client's private values.
  void store_kept(models::private_parameters& to);

 private:
  /// Of examples of which some are drawn negatives. A part of an interaction counts as one.
  [[nodiscard]] std::uint64_t interactions_of(std::uint64_t examples) const {
    return (examples + use_.per_interaction - 1) / use_.per_interaction;
  }
  [[nodiscard]] random_stream stream(purpose what, std::uint32_t part) const;
  void begin_phase(std::span<const std::size_t> tensors);
  phase_result own_phase_of(models::tensor_values start, std::span<const std::size_t> tensors, const local_loop& loop,
                            std::span<const models::gradient_term> terms);
  [[nodiscard]] random_stream next_draws() override;
  template <class Run>
  phase_result each_epoch(const local_loop& loop, const Run& run);

  client_update& out_;
  bool is_weighed_ = false;
  std::uint32_t shuffles_ = 0;
  std::uint32_t phases_ = 0;  ///< that trained with dropout
  std::uint32_t draws_ = 0;   ///< elsewhere, apart from the phases
};

}  // namespace furlong::federated
