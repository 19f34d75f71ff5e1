#include "federated/protocol/awaited_scores.hpp"

namespace furlong::federated::protocol {

void awaited_scores::expect(std::uint64_t version, const std::pair<group, std::uint32_t>& client, std::uint64_t from) {
  if (version != version_) from_.clear();
  version_ = version;
  from_[client] = from;
}

void awaited_scores::take(std::uint64_t from, evaluation_scores& what) {
  std::erase_if(what.each, [&](const scored_client& one) {
    const auto at = from_.find({one.in, one.client});
    if (what.version != version_ || at == from_.end() || at->second != from) return true;
    from_.erase(at);
    return false;
  });
}

evaluation_scores awaited_scores::lose(std::uint64_t from) {
  evaluation_scores none{version_, {}, true};
  std::erase_if(from_, [&](const auto& one) {
    if (one.second != from) return false;
    none.each.push_back({one.first.first, one.first.second, {}});
    return true;
  });
  return none;
}

}  // namespace furlong::federated::protocol
