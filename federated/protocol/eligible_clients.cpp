#include "federated/protocol/eligible_clients.hpp"

#include <algorithm>
#include <bit>

namespace furlong::federated::protocol {

std::size_t client_bits::insert(const client_bits& addition) {
  std::size_t added = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    added += static_cast<std::size_t>(std::popcount(addition.words_[i] & ~words_[i]));
    words_[i] |= addition.words_[i];
  }
  return added;
}

void client_bits::clear() { std::ranges::fill(words_, 0); }

eligible_clients::eligible_clients(std::span<const std::uint32_t> clients, look standing)
    : clients_(clients), look_(std::move(standing)) {
  const std::size_t numbers = clients.empty() ? 0 : std::size_t{clients.back()} + 1;
  standing_.resize(numbers, kind::excluded);
  queued_.resize(numbers, never);
  position_.resize(numbers);
  candidates_.resize(numbers);
  rebuild();
}

void eligible_clients::rebuild() {
  times_ = {};
  versions_ = {};
  std::ranges::fill(queued_, never);
  for (const auto client : clients_) set(client, look_(client));
}

void eligible_clients::update(std::uint32_t client) {
  if (client < standing_.size()) set(client, look_(client));
}

void eligible_clients::advance(virtual_time now, std::uint64_t version) {
  while (!versions_.empty() && versions_.top().first <= version) {
    const auto client = versions_.top().second;
    versions_.pop();
    if (standing_[client] == kind::later_version) set(client, look_(client));
  }
  while (!times_.empty() && times_.top().first <= now) {
    const auto [time, client] = times_.top();
    times_.pop();
    if (queued_[client] == time) queued_[client] = never;
    if (standing_[client] == kind::paced || is_candidate(standing_[client])) set(client, look_(client));
  }
}

void eligible_clients::set(std::uint32_t client, const client_standing& now) {
  const auto before = std::exchange(standing_[client], now.what);
  if (before == kind::paced) --paced_count_;
  if (now.what == kind::paced) ++paced_count_;
  if (is_candidate(before) != is_candidate(now.what)) {
    if (is_candidate(before)) {
      candidates_.erase(client);
      --candidate_count_;
    } else {
      candidates_.insert(client);
      ++candidate_count_;
      if (added_) fresh_.push_back(client);
    }
  }
  if (before == kind::eligible && now.what != kind::eligible) {
    const auto last = eligible_.back();
    eligible_[position_[client]] = last;
    position_[last] = position_[client];
    eligible_.pop_back();
  } else if (before != kind::eligible && now.what == kind::eligible) {
    position_[client] = static_cast<std::uint32_t>(eligible_.size());
    eligible_.push_back(client);
  }
  if (now.what == kind::later_version) versions_.emplace(now.version, client);
  const bool waits = now.what == kind::paced || is_candidate(now.what);
  if (waits && now.changes < never && queued_[client] != now.changes) {
    times_.emplace(now.changes, client);
    queued_[client] = now.changes;
  }
}

std::size_t eligible_clients::add_candidates(client_bits& looked_at) {
  std::size_t added = 0;
  if (!std::exchange(added_, true)) {
    added = looked_at.insert(candidates_);
  } else {
    for (const auto client : fresh_)
      if (is_candidate(standing_[client]) && looked_at.insert(client)) ++added;
  }
  fresh_.clear();
  return added;
}

}  // namespace furlong::federated::protocol
