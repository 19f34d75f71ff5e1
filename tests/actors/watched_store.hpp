#pragma once

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <map>
#include <new>
#include <optional>

#include "storage/memory_store.hpp"
#include "tests/actors/sessions.hpp"

namespace furlong::tests {

/// A store in memory that can hold up who reads a client's values, and remembers what of it is on record.
class watched_store final : public storage::memory_store {
 public:
  using memory_store::memory_store;

  result<bool> load(std::uint32_t client, models::private_parameters& out) override {
    state_.change([&] { ++readers_[client]; });
    state_.wait([&] { return held_up_ != client; });
    return memory_store::load(client, out);
  }
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    if (throws_) throw std::bad_alloc();
    if (refuses_) return fail(*refuses_, "store", "cannot be written");
    auto done = memory_store::commit(client, version, value);
    state_.change([&] { kept_[client] = version; });
    return done;
  }
  result<federated::store_save> save(std::uint64_t /*version*/) override {
    state_.change([&] { on_record_ = kept_; });
    return federated::store_save{};
  }

  result<void> discard(const federated::task_id& task) override {
    auto done = memory_store::discard(task);
    state_.change([&] { discarded_ = true; });
    return done;
  }

  /// Number of pending values. Call it while the node is idle.
  std::size_t pending() {
    std::size_t count = 0;
    BOOST_REQUIRE(visit_pending([&](const auto&, const auto&) { ++count; }));
    return count;
  }
  bool discards() {
    return state_.wait([&] { return discarded_; });
  }
  void hold_up(std::optional<std::uint32_t> client) {
    state_.change([&] { held_up_ = client; });
  }
  bool is_read(std::uint32_t client, std::size_t times = 1) {
    return state_.wait([&] { return readers_[client] >= times; });
  }
  /// Versions of the values that a later reader of the store has, or else an error, by client.
  std::map<std::uint32_t, std::uint64_t> on_record() {
    std::map<std::uint32_t, std::uint64_t> now;
    state_.change([&] { now = on_record_; });
    return now;
  }
  bool keeps(std::uint32_t client, std::chrono::milliseconds longest = patience) {
    return state_.wait([&] { return kept_.contains(client); }, longest);
  }
  bool has_on_record(std::uint32_t client) {
    return state_.wait([&] { return on_record_.contains(client); });
  }
  void throw_from_now_on() { throws_ = true; }
  /// Before the node begins.
  void refuse(error::kind what) { refuses_ = what; }

 private:
  monitor state_;
  std::optional<std::uint32_t> held_up_;
  bool discarded_ = false;
  std::map<std::uint32_t, std::size_t> readers_;
  std::map<std::uint32_t, std::uint64_t> kept_;
  std::map<std::uint32_t, std::uint64_t> on_record_;
  std::atomic<bool> throws_{false};
  std::optional<error::kind> refuses_;
};

}  // namespace furlong::tests
