// The shards of a store that were used last. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

namespace furlong::storage::detail {

class recent_shards {
 public:
  /// At most `limit` of so many shards are recent, at least one.
  recent_shards(std::size_t shards, std::size_t limit)
      : places_(shards, recent_.end()), limit_(std::max<std::size_t>(1, limit)) {}

  /// Marks a shard as used. Returns those that are not recent any more.
  [[nodiscard]] std::vector<std::uint32_t> touch(std::uint32_t shard) {
    std::vector<std::uint32_t> idle;
    const std::lock_guard hold(lock_);
    if (places_[shard] != recent_.end()) recent_.erase(places_[shard]);
    places_[shard] = recent_.insert(recent_.begin(), shard);
    for (; recent_.size() > limit_; recent_.pop_back()) {
      idle.push_back(recent_.back());
      places_[recent_.back()] = recent_.end();
    }
    return idle;
  }
  [[nodiscard]] bool contains(std::uint32_t shard) {
    const std::lock_guard hold(lock_);
    return places_[shard] != recent_.end();
  }

 private:
  std::mutex lock_;  // taken after a shard's lock, never before
  std::list<std::uint32_t> recent_;
  std::vector<std::list<std::uint32_t>::iterator> places_;  // in recent_; its end if not listed
  std::size_t limit_;
};

}  // namespace furlong::storage::detail
