#pragma once

#include <atomic>
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
    auto done = memory_store::commit(client, version, value);
    state_.change([&] { kept_[client] = version; });
    return done;
  }
  result<federated::store_save> save(std::uint64_t /*version*/) override {
    state_.change([&] { on_record_ = kept_; });
    return federated::store_save{};
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
  void throw_from_now_on() { throws_ = true; }

 private:
  monitor state_;
  std::optional<std::uint32_t> held_up_;
  std::map<std::uint32_t, std::size_t> readers_;
  std::map<std::uint32_t, std::uint64_t> kept_;
  std::map<std::uint32_t, std::uint64_t> on_record_;
  std::atomic<bool> throws_{false};
};

}  // namespace furlong::tests
