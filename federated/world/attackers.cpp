#include "federated/world/attackers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/attack.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated {

client_set draw_attackers(const run_settings& settings, std::span<const std::uint32_t> training) {
  const auto& attack = *settings.attack;
  if (attack.entry == nullptr || training.empty()) return client_set();
  client_set bad(training.back() + 1);
  if (!attack.listed.empty()) {
    for (const auto client : attack.listed) bad.insert(client);
    return bad;
  }
  const double wanted = attack.clients < 1.0
                            ? std::max(1.0, std::round(attack.clients * static_cast<double>(training.size())))
                            : attack.clients;
  std::vector<std::uint32_t> order(training.begin(), training.end());
  random_stream stream(settings.seed, purpose::attackers);
  stream.shuffle(std::span(order));
  const auto count = static_cast<std::size_t>(std::min(wanted, static_cast<double>(order.size())));
  for (std::size_t i = 0; i < count; ++i) bad.insert(order[i]);
  return bad;
}

bool is_attacked_by(const experiment& run, std::uint64_t version, std::uint32_t client) {
  return run.around != nullptr && run.settings.attack->attacks(version) && run.around->attackers.contains(client);
}

std::vector<std::uint32_t> honest_among(const experiment& run, std::span<const std::uint32_t> clients) {
  std::vector<std::uint32_t> honest;
  for (const auto client : clients)
    if (run.around == nullptr || !run.around->attackers.contains(client)) honest.push_back(client);
  return honest;
}

client_groups divide_by_attack(const client_groups* groups, const client_set& bad, std::uint32_t clients) {
  client_groups made = groups != nullptr ? *groups : client_groups{{"honest"}, std::vector<std::uint32_t>(clients, 0)};
  std::string name = "bad";
  while (std::ranges::find(made.names, name) != made.names.end()) name += " clients";
  const auto last = static_cast<std::uint32_t>(made.names.size());
  made.names.push_back(name);
  bad.visit([&](std::uint32_t client) { made.of_client[client] = last; });
  return made;
}

}  // namespace furlong::federated
