#include "federated/client/confirmed_lists.hpp"

#include <algorithm>

namespace furlong::federated {

namespace {

using version_list = std::pair<std::uint64_t, digest>;

}  // namespace

bool confirmed_lists::admits(const confirmed_list& added) const {
  const auto found = by_client_.find(added.client);
  if (found == by_client_.end()) return true;
  const auto& known = found->second;
  const auto same = std::ranges::find(known, added.version, &version_list::first);
  if (same != known.end()) return same->second == added.list;
  return known.size() < most_versions || added.version > known.front().first;
}

void confirmed_lists::add(const confirmed_list& added) {
  auto& known = by_client_[added.client];
  const auto place = std::ranges::lower_bound(known, added.version, {}, &version_list::first);
  if (place != known.end() && place->first == added.version) return;
  known.emplace(place, added.version, added.list);
  if (known.size() > most_versions) known.erase(known.begin());
  new_.push_back(added);
}

}  // namespace furlong::federated
