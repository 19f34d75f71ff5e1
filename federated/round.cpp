#include "federated/round.hpp"

#include <cmath>
#include <ctime>

#include "federated/privacy.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

protocol::server_state initial_state(const experiment& e) {
  protocol::server_state state;
  state.run = e.run;
  state.model = initial_model(e);
  state.optimizer = server_optimizer(e.settings.server, e.parts.shared).state();
  state.reference = first_reference(e.settings.aggregation, e.parts.shared);
  return state;
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

  auto& counts = state.counts;
  counts.selected += report.selected;
  counts.folded += report.folded;
  for (const auto& refused : report.refused) ++counts.rejected[static_cast<std::size_t>(refused.why)];
  counts.clients_trained += report.selected;
  counts.examples += report.examples;
  counts.bytes_up += report.bytes_up;
  counts.bytes_down += report.bytes_down;
}

}  // namespace furlong::federated
