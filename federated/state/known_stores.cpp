#include "federated/state/known_stores.hpp"

#include <algorithm>

namespace furlong::federated {

namespace {

client_range common(const client_range& a, const client_range& b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

std::uint64_t clients_with_updates(const participation_ledger& ledger, const client_range& of) {
  std::uint64_t count = 0;
  for (std::size_t client = of.first; client <= of.last && client < ledger.size(); ++client)
    count += ledger.records()[client].folded_version > 0 ? 1 : 0;
  return count;
}

/// The last start version, plus 1, of updates in the model; 0: none.
std::uint64_t last_update(const participation_ledger& ledger, const client_range& of) {
  std::uint64_t last = 0;
  for (std::size_t client = of.first; client <= of.last && client < ledger.size(); ++client)
    last = std::max<std::uint64_t>(last, ledger.records()[client].folded_version);
  return last;
}

/// Why a store is not the known one.
std::optional<std::string> difference(const known_stores::entry& known, const client_range& shared,
                                      const store_claim& claim, const participation_ledger& ledger, bool complete) {
  const auto whose = "clients " + std::to_string(shared.first) + " to " + std::to_string(shared.last);
  // A node without a persistent store, as in tests, has nothing to lose.
  if (known.store == 0 || clients_with_updates(ledger, shared) == 0) return std::nullopt;
  const auto had = " had one" + (known.node.empty() ? std::string() : " on node " + known.node) +
                   ", and the model has updates that were made with it";
  if (claim.store == 0) return "this node has no private store for " + whose + ", which" + had;
  if (claim.store != known.store) return "its private store is not that of " + whose + ", which" + had;
  // Updates of the version at which the store became theirs may have been made with another store.
  const auto last = last_update(ledger, shared);
  const bool behind = complete && last > known.since + 1 && claim.served < last;
  if (!behind && claim.openings >= known.openings) return std::nullopt;
  return "its private store is older than the model: it is a copy that was put back, and " + whose +
         " have done more since";
}

}  // namespace

std::optional<std::string> known_stores::mismatch(const client_range& clients, const store_claim& claim,
                                                  const participation_ledger& ledger, bool complete) const {
  for (const auto& known : entries_)
    if (known.clients.overlaps(clients))
      if (auto why = difference(known, common(known.clients, clients), claim, ledger, complete)) return why;
  return std::nullopt;
}

std::uint64_t known_stores::take(const client_range& clients, const store_claim& claim,
                                 const participation_ledger& ledger, bool complete, std::uint64_t version,
                                 const std::string& node) {
  std::uint64_t lost = 0;
  std::uint64_t since = version;
  std::vector<entry> rest;
  entry now{clients, claim.store, claim.openings, version, node};
  for (const auto& known : entries_) {
    if (!known.clients.overlaps(clients)) {
      rest.push_back(known);
      continue;
    }
    const auto shared = common(known.clients, clients);
    const bool differs = difference(known, shared, claim, ledger, complete).has_value();
    if (differs) lost += clients_with_updates(ledger, shared);
    if (!differs && known.store == claim.store) since = std::min(since, known.since);
    // The other clients keep their entry.
    auto part = known;
    if (known.clients.first < clients.first) {
      part.clients = {known.clients.first, clients.first - 1};
      rest.push_back(part);
    }
    if (known.clients.last > clients.last) {
      part.clients = {clients.last + 1, known.clients.last};
      rest.push_back(part);
    }
  }
  if (lost == 0) now.since = since;
  rest.push_back(std::move(now));
  std::ranges::sort(rest);
  entries_ = std::move(rest);
  lost_ += lost;
  return lost;
}

}  // namespace furlong::federated
