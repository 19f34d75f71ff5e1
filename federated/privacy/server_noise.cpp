#include "federated/privacy/server_noise.hpp"

#include <algorithm>
#include <cmath>

#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

void add_server_noise(const experiment& e, std::uint64_t version, aggregate& round) {
  const auto& rule = *e.settings.aggregation;
  const double once = rule.noise_at == noise_place::server ? rule.noise : 0.0;
  const double of_sum = round.count > 0 ? round.mixing * e.settings.privacy->noise * e.settings.privacy->clip : 0.0;
  if (once == 0.0 && of_sum == 0.0) return;
  random_stream stream(e.settings.seed, purpose::server_noise, static_cast<std::uint32_t>(version));
  const auto add = [&](std::span<float> values, double divisor) {
    const auto deviation = static_cast<float>(std::hypot(once, of_sum / divisor));
    for (auto& value : values) value += deviation * stream.normal();
  };
  const auto count = static_cast<double>(std::max<std::uint64_t>(round.count, 1));
  add(round.change.values(), count);
  for (const auto& group : e.groups)
    for (std::size_t i = 0; group.in_reported != placed_group::nowhere && i < group.count(); ++i)
      add(round.added.tensor(group.in_reported + i), group.rule == sum_rule::sum ? 1.0 : count);
}

}  // namespace furlong::federated
