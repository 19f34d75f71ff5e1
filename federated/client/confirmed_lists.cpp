#include "federated/client/confirmed_lists.hpp"

#include <algorithm>

namespace furlong::federated {

namespace {

using version_list = std::pair<std::uint64_t, digest>;

}  // namespace

bool confirmed_lists::admits(const confirmed_list& of) const {
  const auto at = by_client_.find(of.client);
  if (at == by_client_.end()) return true;
  const auto& known = at->second;
  const auto same = std::ranges::find(known, of.version, &version_list::first);
  if (same != known.end()) return same->second == of.list;
  return known.size() < most_versions || of.version > known.front().first;
}

void confirmed_lists::add(const confirmed_list& of) {
  auto& known = by_client_[of.client];
  const auto place = std::ranges::lower_bound(known, of.version, {}, &version_list::first);
  if (place != known.end() && place->first == of.version) return;
  known.emplace(place, of.version, of.list);
  if (known.size() > most_versions) known.erase(known.begin());
  new_.push_back(of);
}

}  // namespace furlong::federated
