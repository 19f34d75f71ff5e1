// Sessions that a test is the other end of.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "actors/net/channel.hpp"
#include "wire/decode.hpp"

namespace furlong::tests {

constexpr auto patience = std::chrono::seconds(20);

/// A wait for something that other threads do.
class monitor {
 public:
  void change(const std::function<void()>& what) {
    {
      const std::lock_guard lock(mutex_);
      what();
    }
    changed_.notify_all();
  }
  bool wait(const std::function<bool()>& until, std::chrono::milliseconds longest = patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest, until);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// One end of a session: what comes from the other side.
class listening_channel : public actors::net::channel {
 public:
  void send(wire::encoded frame) override {
    state_.change([&] { frames_.push_back(std::move(frame)); });
  }
  [[nodiscard]] std::size_t queued() const override { return 0; }
  void limit(std::size_t) override {}
  void close() override {
    state_.change([&] { closed_ = true; });
  }
  [[nodiscard]] const actors::net::peer& other() const override { return who_; }

  bool is_closed() {
    return state_.wait([&] { return closed_; });
  }
  /// How many messages of a kind came, as soon as there are so many.
  template <class Message>
  std::size_t heard(std::size_t fewest, const models::layout_ptr& shared,
                    std::chrono::milliseconds longest = patience) {
    std::size_t found = 0;
    state_.wait(
        [&] {
          found = 0;
          wire::decoder read(shared);
          for (const auto& frame : frames_) found += holds<Message>(read, frame) ? 1 : 0;
          return found >= fewest;
        },
        longest);
    return found;
  }
  /// Those that have come.
  template <class Message>
  std::vector<Message> all(const models::layout_ptr& shared) {
    std::vector<Message> found;
    state_.change([&] {
      wire::decoder read(shared);
      for (const auto& frame : frames_)
        if (const auto copy = copy_of(frame); holds<Message>(read, frame))
          found.push_back(std::get<Message>(*read.decode(copy.bytes())));
    });
    return found;
  }

 private:
  static actors::net::received copy_of(const wire::encoded& frame) {
    actors::net::received copy(frame.size());
    std::ranges::copy(frame.bytes(), copy.bytes().begin());
    return copy;
  }
  template <class Message>
  static bool holds(wire::decoder& read, const wire::encoded& frame) {
    const auto copy = copy_of(frame);
    const auto got = read.decode(copy.bytes());
    return got && std::holds_alternative<Message>(*got);
  }

  monitor state_;
  std::vector<wire::encoded> frames_;
  actors::net::peer who_{"other", "host:1"};
  bool closed_ = false;
};

}  // namespace furlong::tests
