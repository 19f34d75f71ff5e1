// The values that one client works on, as an algorithm sees them: the model's weights, copies of them, and the tensors
// that the algorithm adds.
#pragma once

#include <cstdint>
#include <span>

#include "federated/client/local_training.hpp"
#include "federated/client/workspace.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// One client, one thread. All values have the shape of the working set: of tensors with rows for features or clients
/// the gathered rows. They lie in the thread's workspace, and nothing is allocated once that is warm. models::assign,
/// add, scale and dot compute with them. A group or tensor that there is not, or that is at another place, is a mistake
/// of the algorithm: it throws, and ends the run.
class local_values {
 public:
  [[nodiscard]] const experiment& of() const { return e_; }
  [[nodiscard]] const run_settings& settings() const { return e_.settings; }
  /// The tensors of the model: all_tensors, shared_tensors, private_tensors are what the tools below take.
  [[nodiscard]] const models::partition& parts() const { return e_.parts; }
  /// Whether the client's own values are those that it kept, not first ones.
  [[nodiscard]] bool has_state() const { return has_state_; }

  /// What training moves, and what predicts.
  [[nodiscard]] models::tensor_values weights() { return use_.weights.values(); }
  /// The weights as they were first: the model as received, and the client's private tensors.
  [[nodiscard]] models::tensor_values received();
  /// Sets `tensors` of `to` to the values of the shared model before the first round, the same on all clients.
  void assign_initial(models::tensor_values to, std::span<const std::size_t> tensors);
  /// The i-th buffer for what an algorithm computes. Holds anything at first.
  [[nodiscard]] models::tensor_values scratch(std::size_t i);

  /// The values of a group of copies, by the number of the model's tensor; others than those that it copies hold
  /// anything, or where the group begins as received the received values. Kept, broadcast and shared groups are loaded;
  /// of a report group it is reported(). Kept ones are stored as they are when the task ends.
  [[nodiscard]] models::tensor_values group(std::size_t g);
  /// The numbers of the model's tensors that a group copies; none: it has shapes of its own.
  [[nodiscard]] std::span<const std::size_t> copied(std::size_t g) const { return group_at(g).copies_of; }
  /// The i-th tensor of any group, likewise.
  [[nodiscard]] models::tensor_view tensor(std::size_t g, std::size_t i = 0);
  /// The i-th tensor of a kept group as the client's last task left it, with all of its rows.
  [[nodiscard]] std::span<const float> kept(std::size_t g, std::size_t i = 0) const;

  /// Of what another program draws in this task; above 0, and another one at each call.
  [[nodiscard]] std::uint64_t draw_seed();
  /// The client's own examples, numbered as the working set has them. In an evaluation those that it is known by.
  [[nodiscard]] models::examples_view examples() const { return use_.weights.data(); }
  /// The gradient of a batch's mean loss by `tensors`, at any weights (models::model::has_gradient); rows that the
  /// batch does not touch are zero. `out` also receives the new values of buffers: those of the sides (shared, private)
  /// of `tensors`. The dropout is that of the phase. Returns the sum of its losses.
  /// Throws std::logic_error for labels that a class in another program could not use: it has its own.
  double gradient(const models::examples_view& batch, models::tensor_values at, std::span<const std::size_t> tensors,
                  models::tensor_values out);
  /// The same with a term of the loss in the features of the batch. Only where the traits say needs_features: else it
  /// throws std::logic_error.
  double gradient(const models::examples_view& batch, models::tensor_values weights,
                  std::span<const std::size_t> tensors, models::tensor_values out, const models::feature_loss& added);
  /// Predictions at any weights (models::model::predict), one per example. Nothing is dropped.
  void predict(const models::examples_view& batch, models::tensor_values weights, std::span<float> out);
  /// The features of the examples at any weights (models::feature_model::features), examples x width. Throws as above.
  void features(const models::examples_view& batch, models::tensor_values weights, std::span<float> out);
  /// The model as features and a head. Throws as above.
  [[nodiscard]] const models::feature_model& feature_model() const;
  /// Other examples of the client, such as those that score() is asked about, numbered as examples() are.
  void renumber(const models::examples_view& given, models::examples& numbered) const {
    use_.weights.renumber(given, numbered);
  }
  /// [algorithm] reconstruction of `tensors` on the support batches, all others frozen.
  phase_result reconstruct(std::span<const std::size_t> tensors);

 protected:
  /// @param down the broadcast's values; the arguments must outlive the task
  local_values(const experiment& e, const models::shared_parameters& down, std::uint32_t client, workspace& use,
               bool has_state);
  ~local_values() = default;

  [[nodiscard]] const placed_group& group_at(std::size_t g) const;
  [[nodiscard]] models::tensor_view view_in(float* buffer, const placed_group& of, std::size_t i) const;
  /// The rows that were gathered of the i-th tensor of a group; none: all of it.
  [[nodiscard]] std::span<const std::uint32_t> rows_of(const placed_group& of, std::size_t i) const;
  /// Floats of a group's buffer.
  [[nodiscard]] std::size_t size_of(const placed_group& of) const;
  void load(std::size_t g);
  /// Throws std::logic_error for labels that a class in another program could not use.
  void check_labels(const models::examples_view& batch) const;
  [[nodiscard]] models::tensor_values reported_values(std::size_t g);
  /// Sets workspace::visits to the examples of these batches; how many they are.
  std::uint32_t visit(std::span<const batch_range> batches);
  /// Of what is drawn next outside of this process, apart from the phases of training.
  [[nodiscard]] virtual random_stream next_draws() = 0;

  const experiment& e_;
  workspace& use_;

 private:
  [[nodiscard]] const models::tensor_spec& spec_of(const placed_group& of, std::size_t i) const;
  [[nodiscard]] std::uint32_t gathered_rows(const models::tensor_spec& spec) const;
  [[nodiscard]] std::size_t values_before(const placed_group& of, std::size_t i) const;
  [[nodiscard]] std::size_t own_rows() const;

  const models::shared_parameters& down_;
  std::uint32_t client_;
  bool has_state_;
  bool has_received_ = false;
};

}  // namespace furlong::federated
