// What is done with a client's own examples before the model predicts for it: in evaluation, and in inference.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "federated/algorithm.hpp"
#include "federated/client/workspace.hpp"
#include "federated/experiment.hpp"

namespace furlong::federated {

/// One client whose values are to be found, as an algorithm sees it: the tools that algorithm::personalize() calls. The
/// working set holds the model and the client's private values, stored or initial; the support batches are those of the
/// client's own examples that may be used. One thread at a time.
class personal_task {
 public:
  personal_task(const experiment& e, std::uint32_t client, workspace& use) : e_(e), client_(client), use_(use) {}

  [[nodiscard]] const experiment& of() const { return e_; }
  [[nodiscard]] bool has_examples() const { return !use_.support.empty(); }
  /// Sets those of `tensors` that are the client's own (private ones, its row of a table over clients) to their initial
  /// values. Shared ones stay: reconstructing them is fine-tuning.
  void reset(std::span<const std::size_t> tensors);
  /// [algorithm] reconstruction of `tensors` on the support batches, all others frozen.
  void reconstruct(std::span<const std::size_t> tensors);

 private:
  const experiment& e_;
  std::uint32_t client_;
  workspace& use_;
};

/// Whether a tensor is one client's: private, or with a row for each.
[[nodiscard]] bool is_personal(const experiment& e, std::size_t tensor);
/// The tensors of evaluation.reconstruct, ascending.
[[nodiscard]] std::vector<std::size_t> reconstructed_tensors(const experiment& e);

}  // namespace furlong::federated
