#include "scenarios/traces/trace_sample.hpp"

#include <algorithm>

#include "federated/settings/devices.hpp"
#include "federated/world/availability.hpp"
#include "scenarios/traces/trace_file.hpp"

namespace furlong::scenarios {

using federated::virtual_time;

result<federated::availability_trace> sample_trace(const federated::availability_settings& settings, std::uint64_t seed,
                                                   std::uint32_t clients, virtual_time length) {
  const auto presence = federated::make_availability({settings, seed});
  const bool by_round = presence->by_round();
  const auto step = std::max<virtual_time>(federated::from_seconds(settings.step), 1);
  trace_builder seen;
  for (std::uint32_t client = 0; client < clients; ++client) {
    for (virtual_time now = 0; now < length;) {
      const auto round = by_round ? static_cast<std::uint64_t>(now / step) : 0;
      const auto next = std::min(by_round ? now + step : presence->changes(client, now, round), length);
      if (presence->available(client, now, round)) seen.add(client, now, next);
      now = next;
    }
    if (seen.size() > most_intervals)
      return fail(error::kind::usage, "", "the trace would have more than 100 million intervals",
                  "ask for fewer clients, fewer days or longer intervals");
  }
  return seen.build(clients, length);
}

}  // namespace furlong::scenarios
