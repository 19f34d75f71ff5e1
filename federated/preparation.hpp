// What is done with a client's own examples before the model predicts for it: in evaluation, and in inference.
#pragma once

#include <cstddef>
#include <vector>

#include "federated/experiment.hpp"

namespace furlong::federated {

struct preparation {
  std::vector<std::size_t> rebuilt;  ///< tensors reconstructed, from where redraw_personal() puts them
  std::vector<std::size_t> tuned;    ///< then tensors trained further, from what they are
};

/// Whether a tensor is one client's: private, or with a row for each.
[[nodiscard]] bool is_personal(const experiment& e, std::size_t tensor);
/// The tensors of evaluation.reconstruct, ascending.
[[nodiscard]] std::vector<std::size_t> reconstructed_tensors(const experiment& e);
/// Whether private tensors are rebuilt for a client that may train. @param stored whether it has private values
[[nodiscard]] bool rebuilds_seen(const run_settings& settings, bool stored);
/// For a client that may train.
[[nodiscard]] preparation prepare_seen(const experiment& e, bool stored);
/// For a client that is never asked to train. FURL rebuilds only with private.cold_start = "reconstruct".
[[nodiscard]] preparation prepare_unseen(const experiment& e);

}  // namespace furlong::federated
