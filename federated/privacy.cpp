#include "federated/privacy.hpp"

#include <cmath>

namespace furlong::federated {

void add_server_noise(const experiment& e, std::uint64_t version, aggregate& round) {
  const auto& rule = e.settings.aggregation;
  double deviation = rule.noise_at == noise_place::server ? rule.noise : 0.0;
  if (e.settings.privacy.noise > 0 && round.count > 0)
    deviation = std::hypot(deviation, round.mixing * e.settings.privacy.noise * e.settings.privacy.clip /
                                          static_cast<double>(round.count));
  if (deviation == 0.0) return;
  random_stream stream(e.settings.seed, purpose::server_noise, static_cast<std::uint32_t>(version));
  for (auto& value : round.change.values()) value += static_cast<float>(deviation) * stream.normal();
}

}  // namespace furlong::federated
