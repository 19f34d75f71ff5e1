// What is done with a client's own examples before the model predicts for it: in evaluation, and in inference.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "federated/client/local_values.hpp"
#include "federated/experiment/algorithm.hpp"

namespace furlong::federated {

/// One client whose values are to be found, as an algorithm sees it: the tools that algorithm::personalize() calls. The
/// working set holds the model, the client's private values, stored or initial, and those of its own examples that may
/// be used: never the examples that are predicted afterwards. One thread at a time.
class personal_task final : public local_values {
 public:
  /// Cuts the examples of the working set into the support batches.
  /// @param down the model as clients get it
  personal_task(const experiment& e, const models::shared_parameters& down, std::uint32_t client, workspace& use,
                bool has_state);

  [[nodiscard]] std::uint32_t client() const { return client_; }
  [[nodiscard]] bool has_examples() const { return !use_.support.empty(); }
  /// Sets those of `tensors` that are the client's own (private ones, its row of a table over clients) to their initial
  /// values. Shared ones stay: reconstructing them is fine-tuning.
  void reset(std::span<const std::size_t> tensors);
  /// SGD that moves `tensors`, all others frozen, on the client's own examples in their order: a loop does not shuffle
  /// them, and nothing is dropped.
  phase_result sgd(std::span<const std::size_t> tensors, const local_loop& loop);

 private:
  [[nodiscard]] random_stream next_draws() override;

  std::uint32_t client_;
  std::uint32_t draws_ = 0;
};

/// Whether a client's private tensors are reconstructed because it has kept none: private.cold_start.
[[nodiscard]] bool starts_cold(const experiment& e, bool has_state);
/// Whether a tensor is one client's: private, or with a row for each.
[[nodiscard]] bool is_personal(const experiment& e, std::size_t tensor);
/// The tensors of evaluation.reconstruct, ascending.
[[nodiscard]] std::vector<std::size_t> reconstructed_tensors(const experiment& e);

}  // namespace furlong::federated
