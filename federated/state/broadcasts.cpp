#include "federated/state/broadcasts.hpp"

#include <algorithm>

#include "federated/experiment/quantized_traffic.hpp"
#include "federated/settings/algorithm_traits.hpp"

namespace furlong::federated {

norm_bound_kind norm_bound_of(const run_settings& settings) {
  return settings.algorithm->traits.sends ? settings.aggregation->norm_bound : norm_bound_kind::fixed;
}

broadcast make_broadcast(const experiment& e, const server_state& state) {
  return make_broadcast(e, state, state.last());
}

models::shared_parameters sent_model(const experiment& e, const model_version& of) {
  auto sent = of.model;
  if (of.model.shape() != e.parts.down) {
    sent = models::shared_parameters(e.parts.down);
    std::ranges::copy(of.model.values(), sent.values().begin());
    for (const auto& group : e.groups)
      for (std::size_t i = 0; group.in_down != placed_group::nowhere && i < group.count(); ++i)
        std::ranges::copy(of.added->tensor(group.in_server + i), sent.tensor(group.in_down + i).begin());
  }
  round_broadcast(e, of.version, sent);
  return sent;
}

broadcast make_broadcast(const experiment& e, const server_state& state, const model_version& of) {
  broadcast made{state.run, of.version, sent_model(e, of), state.reference};
  made.limits = state.sizes.limits(norm_bound_of(e.settings), rounds_numbers(e.settings));
  return made;
}

std::uint64_t sent_bytes(const experiment& e, const broadcast& from) {
  return e.sent_bytes ? e.sent_bytes(from) : e.download_bytes;
}

}  // namespace furlong::federated
