#include "federated/protocol/short_windows.hpp"

#include <utility>

namespace furlong::federated::protocol {

virtual_time short_windows::first_before(virtual_time next, virtual_time now, std::uint64_t version) {
  const auto foresight = roster_->foresight();
  const bool next_version = std::exchange(version_, version) != version;
  if (!foresight || *foresight != foresight_ || (next_version && !roster_->waiting_helps())) outlooks_.clear();
  foresight_ = foresight.value_or(0);
  outlooks_.resize(clients_.size());
  auto first = next;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const auto client = clients_[i];
    auto& seen = outlooks_[i];
    if (seen.until <= now)
      seen = {roster_->reachable_until(client, now, version), roster_->reachable(client, now, version)};
    if (!seen.reachable && seen.until < first && roster_->reachable(client, seen.until, version) &&
        roster_->reachable_until(client, seen.until, version) <= next)
      first = seen.until;
  }
  return first;
}

}  // namespace furlong::federated::protocol
