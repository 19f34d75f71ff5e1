#include "federated/round.hpp"

#include <cmath>

#include "federated/privacy.hpp"
#include "federated/rounding.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

protocol::server_state initial_state(const experiment& e) {
  protocol::server_state state;
  state.run = e.run;
  state.model = initial_model(e);
  state.optimizer = server_optimizer(e.settings.server, e.parts.shared).state();
  state.reference = first_reference(e.settings.aggregation, e.parts.shared);
  const auto clients = e.participants->training();
  state.ledger = std::make_shared<participation_ledger>(clients.empty() ? 0 : std::size_t{clients.back()} + 1);
  return state;
}

broadcast make_broadcast(const experiment& e, const protocol::server_state& state) {
  broadcast made{state.run, state.version, state.model, state.reference};
  round_broadcast(e, state.version, made.model);
  return made;
}

std::uint64_t sent_bytes(const experiment& e, const broadcast& from) {
  return e.sent_bytes ? e.sent_bytes(from) : e.download_bytes;
}

void close_round(const experiment& e, protocol::server_state& state, server_optimizer& optimizer, aggregate& round,
                 round_report& report) {
  report.applied = round.usable;
  report.loss = round.loss;
  if (round.usable) {
    add_server_noise(e, state.version, round);
    const auto change = round.change.values();
    report.change_norm = std::sqrt(models::kernels().norm_squared(change.data(), change.size()));
    optimizer.apply(round.change, state.model);
  }
  if (!round.reference.empty()) state.reference = round.reference;
  report.version = ++state.version;
  report.rejected = report.refused.size();
}

}  // namespace furlong::federated
