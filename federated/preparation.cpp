#include "federated/preparation.hpp"

#include <algorithm>

#include "federated/client_work.hpp"

namespace furlong::federated {

bool is_personal(const experiment& e, std::size_t tensor) {
  return e.parts.slots[tensor].is_private || (*e.parts.model)[tensor].index == models::row_index::by_client;
}

std::vector<std::size_t> reconstructed_tensors(const experiment& e) {
  std::vector<std::size_t> tensors;
  for (const auto& name : e.settings.evaluation.reconstruct)
    if (const auto tensor = e.parts.model->find(name)) tensors.push_back(*tensor);
  std::ranges::sort(tensors);
  return tensors;
}

bool rebuilds_seen(const run_settings& settings, bool stored) {
  return settings.algorithm == algorithm_kind::fedrecon ||
         (is_stateful(settings.algorithm) && !stored && settings.own.cold_start == cold_start_kind::reconstruct);
}

preparation prepare_unseen(const experiment& e) {
  const bool as_it_is =
      e.settings.algorithm == algorithm_kind::furl && e.settings.own.cold_start == cold_start_kind::initial;
  return {as_it_is ? std::vector<std::size_t>() : reconstructed_tensors(e), {}};
}

preparation prepare_seen(const experiment& e, bool stored) {
  preparation made;
  if (rebuilds_seen(e.settings, stored)) made.rebuilt = e.parts.private_tensors;
  if (e.settings.algorithm == algorithm_kind::fedrecon) return made;
  auto named = prepare_unseen(e).rebuilt;
  // Where a shared tensor is among them, what is the client's own goes on from what it is, too.
  if (std::ranges::any_of(named, [&](auto tensor) { return !is_personal(e, tensor); })) made.tuned = std::move(named);
  return made;
}

}  // namespace furlong::federated
