// A node's connection as a test wants it: frames one after the other on the caller's thread, and no rule kept for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "actors/net/connector.hpp"
#include "wire/encode.hpp"

namespace furlong::tests {

/// Calls that wait throw std::runtime_error after so long.
constexpr auto longest_silence = std::chrono::seconds(60);

/// What a call gave. Throws std::runtime_error with the text of its error.
template <class T>
T must(result<T> got) {
  if (!got) throw std::runtime_error(got.error().text());
  return std::move(*got);
}

/// One connection, seen from this thread.
class frame_session {
 public:
  /// Waits until the connection is open, or is not to be: then next() has nothing.
  frame_session(actors::net::transport& on, const actors::net::host_port& to, const actors::net::tls_context& tls) {
    actors::net::connect_events events;
    events.on_open = [this](const actors::net::channel_ptr& channel) {
      push([&] { channel_ = channel; });
      return actors::net::channel_events{
          [this](actors::net::received frame) { push([&] { frames_.push_back(std::move(frame)); }); },
          [this](const error& why) { push([&] { closed_ = why.text(); }); }};
    };
    events.on_failed = [this](const actors::net::connect_failure& why) { push([&] { closed_ = why.what.text(); }); };
    actors::net::connect(on, to, tls, {}, nullptr, std::move(events));
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, longest_silence, [&] { return channel_ || closed_; }))
      throw std::runtime_error("no connection");
  }
  ~frame_session() {
    if (!channel_) return;
    channel_->close();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest_silence, [&] { return closed_.has_value(); });
  }
  frame_session(const frame_session&) = delete;
  frame_session& operator=(const frame_session&) = delete;

  void send(wire::encoded frame) {
    if (channel_) channel_->send(std::move(frame));
  }
  void send(const wire::control& message) { send(must(wire::encoder::encode(message))); }
  /// The next frame; nothing when the session is over.
  std::optional<actors::net::received> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, longest_silence, [&] { return !frames_.empty() || closed_; }))
      throw std::runtime_error("the gateway says nothing");
    if (frames_.empty()) return std::nullopt;
    auto frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }

 private:
  template <class Change>
  void push(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  actors::net::channel_ptr channel_;
  std::deque<actors::net::received> frames_;
  std::optional<std::string> closed_;
};

}  // namespace furlong::tests
