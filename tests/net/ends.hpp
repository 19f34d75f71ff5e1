// Both ends of connections for tests of the transport, and what they see.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/net/connector.hpp"
#include "actors/net/listener.hpp"
#include "tests/net/test_pki.hpp"

namespace furlong::tests {

namespace net = actors::net;
using std::chrono::milliseconds;

/// Longer than anything takes on a busy machine; a test that waits so long fails.
constexpr milliseconds long_time{30'000};

/// A frame of about `bytes` bytes that depend on the seed. No frame of wire/ is shorter than a few dozen.
[[nodiscard]] wire::encoded make_frame(std::size_t bytes, std::uint32_t seed = 1);
[[nodiscard]] bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b);

/// What one end of a channel sees. Thread-safe.
class witness {
 public:
  net::channel_ptr channel;  ///< set before anything else is seen
  std::optional<net::connect_failure> failure;
  std::optional<error> closed;
  int closings = 0;
  std::vector<net::received> frames;
  std::size_t frame_count = 0;
  std::size_t byte_count = 0;
  bool keep = true;  ///< frames; otherwise they are counted and let go

  [[nodiscard]] net::channel_events events();
  void opened(net::channel_ptr by);
  void failed(const net::connect_failure& why);

  /// Waits until `seen` holds; false when it takes too long. The lock is held while `seen` runs.
  template <class Seen>
  [[nodiscard]] bool wait(Seen seen, milliseconds most = long_time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, seen);
  }
  [[nodiscard]] bool wait_open() {
    return wait([&] { return channel != nullptr || failure.has_value(); }) && channel != nullptr;
  }
  [[nodiscard]] bool wait_frames(std::size_t count, milliseconds most = long_time) {
    return wait([&] { return frame_count >= count; }, most);
  }
  /// The reason, or nothing after too long a time.
  [[nodiscard]] std::optional<std::string> wait_closed(milliseconds most = long_time);
  [[nodiscard]] std::optional<net::connect_failure> wait_failed();
  std::vector<net::received> take_frames();
  void let_go(bool keep_further);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct gateway_options {
  bool secured = true;
  std::size_t threads = 1;
  bool keep = true;  ///< see witness
  net::listener_settings settings = {};
  std::function<std::optional<std::string>(const net::peer&)> accept_peer = {};
  std::string at = "127.0.0.1:0";
  std::optional<net::tls_paths> certificate = {};  ///< in place of a gateway's
};

/// A listener and a witness for each channel that comes in.
class gateway {
 public:
  explicit gateway(test_pki& pki, gateway_options options = {});

  [[nodiscard]] net::host_port address(const std::string& host = "127.0.0.1") const { return {host, port()}; }
  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }
  [[nodiscard]] net::listener& listening() { return *listener_; }
  /// The witness of the nth channel, from 0; null after too long a time.
  [[nodiscard]] std::shared_ptr<witness> wait_channel(std::size_t n);
  [[nodiscard]] std::size_t channels();
  /// Waits for the nth refusal.
  [[nodiscard]] std::optional<net::connect_failure> wait_refusal(std::size_t n = 0, milliseconds most = long_time);
  [[nodiscard]] std::size_t refusals();
  void stop() { listener_.reset(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<witness>> channels_;
  std::vector<net::connect_failure> refusals_;
  bool keep_;
  net::transport transport_;
  std::unique_ptr<net::listener> listener_;
};

/// Begins to connect; the witness sees what comes of it.
[[nodiscard]] std::shared_ptr<witness> connect_to(net::transport& on, const net::host_port& to,
                                                  std::optional<net::tls_context> tls,
                                                  const net::channel_settings& settings = {});
/// A node's context; throws when the files are bad.
[[nodiscard]] net::tls_context client_context(const net::tls_paths& paths);

/// Looks again and again until it holds; false after too long a time.
template <class Seen>
[[nodiscard]] bool eventually(Seen seen, milliseconds most = long_time) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!seen()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

/// Short times, so that tests of silence are short.
[[nodiscard]] net::channel_settings impatient();
/// Short, and yet longer than a busy machine leaves a thread without its turn.
[[nodiscard]] net::channel_settings unhurried();

}  // namespace furlong::tests
