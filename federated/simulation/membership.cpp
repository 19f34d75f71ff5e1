#include "federated/simulation/membership.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

client_set clients_of(const event_settings& event, std::size_t index, std::uint64_t seed, std::uint32_t clients) {
  client_set members(clients);
  if (event.target != event_target::clients) return members;
  if (event.share > 0) {
    for (std::uint32_t client = 0; client < clients; ++client) {
      random_stream stream(seed, purpose::scheduled_event, static_cast<std::uint32_t>(index), client);
      if (static_cast<double>(stream.uniform()) < event.share) members.insert(client);
    }
    return members;
  }
  for (std::uint64_t client = event.first; client <= event.last && client < clients; ++client)
    members.insert(static_cast<std::uint32_t>(client));
  return members;
}

first_events first_events_of(const run_settings& settings, bool at_rounds, std::uint32_t clients) {
  const auto& events = *settings.events;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].at_round == at_rounds && (events[i].what == event_kind::join || events[i].what == event_kind::leave))
      order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(events[i].round, events[i].seconds); });
  first_events first{client_set(clients), client_set(clients)};
  client_set decided(clients);
  for (const auto i : order) {
    const auto all = clients_of(events[i], i, settings.seed, clients);
    auto whom = all;
    whom.remove(decided);
    (events[i].what == event_kind::join ? first.joining : first.leaving).insert(whom);
    decided.insert(all);
  }
  return first;
}

membership::membership(const run_settings& settings, std::uint32_t clients)
    : settings_(settings), clients_(clients), any_(!settings.events->empty()) {
  if (!any_) return;
  outside_ = down_ = cut_ = mute_ = client_set(clients);
  for (const bool at_rounds : {true, false}) outside_.insert(first_events_of(settings, at_rounds, clients).joining);
}

void membership::apply(std::size_t index) {
  const auto& event = (*settings_.events)[index];
  const auto whom = clients_of(event, index, settings_.seed, clients_);
  switch (event.what) {
    case event_kind::join: return outside_.remove(whom);
    case event_kind::leave: return outside_.insert(whom);
    case event_kind::kill: return down_.insert(whom);
    case event_kind::restart: return down_.remove(whom);
    case event_kind::partition: return cut_.insert(whom);
    case event_kind::heal: return cut_.remove(whom);
    case event_kind::unresponsive: return mute_.insert(whom);
  }
}

std::vector<std::uint32_t> membership::unresponsive() const {
  std::vector<std::uint32_t> all;
  if (any_) mute_.visit([&](std::uint32_t client) { all.push_back(client); });
  return all;
}

}  // namespace furlong::federated
