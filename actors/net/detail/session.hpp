// One connection from its handshake to its end: the channel of this transport.
//
//   handshake -> greeting -> open -> [flushing ->] draining -> gone
// After the handshake a server decides on the admission of the peer, before it reads a byte of a frame. Both sides then
// send a heartbeat as greeting: a client is open when it has the server's, because in TLS 1.3 it learns only after its
// own handshake whether the server accepts it. Draining reads and drops incoming data, so that the last bytes of this
// side are not lost to a reset of the connection.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/net/budget.hpp"
#include "actors/net/channel.hpp"
#include "actors/net/detail/frame_reader.hpp"
#include "actors/net/detail/frame_writer.hpp"
#include "actors/net/detail/io_core.hpp"
#include "actors/net/detail/stream.hpp"

namespace furlong::actors::net::detail {

/// Called on the session's strand. Either on_open or on_failed is called, once. All except on_open may be empty.
struct session_hooks {
  std::function<std::optional<std::string>(const peer&)> judge;        ///< of a server: the reason to reject this peer
  std::function<void()> on_handshaken;                                 ///< after the handshake, successful or not
  std::function<channel_events(channel_ptr)> on_open;                  ///< returns the channel's callbacks
  std::function<void(const peer&, const connect_failure&)> on_failed;  ///< ended before it was open
  std::function<void()> on_gone;                                       ///< the socket is closed
};

struct session_parts {
  std::shared_ptr<io_core> core;
  tcp::socket socket;  ///< connected, non-blocking, on its own strand
  std::unique_ptr<stream> bytes;
  peer other;
  bool server = false;
  bool secured = false;
  channel_settings settings;
  budget_ptr room;  ///< null: unlimited
  session_hooks hooks;
};

class session final : public channel, public endable, public std::enable_shared_from_this<session> {
 public:
  explicit session(session_parts parts);
  /// Starts the handshake. Once.
  void start();

  void send(wire::encoded frame) override;
  [[nodiscard]] std::size_t queued() const override { return queued_; }
  void limit(std::size_t max_message) override;
  void close() override;
  [[nodiscard]] const peer& other() const override { return other_; }
  void abort() override;

 private:
  using clock = std::chrono::steady_clock;
  enum class stage { handshake, greeting, open, flushing, draining, gone };
  enum class closing {
    none,
    tell,
    drop
  };  ///< what the peer receives at the end: the queued bytes, also the reason, only a closed socket
  struct small_hold;

  /// Runs a member on the strand later, if the session still exists.
  template <class Work>
  void later(Work work);

  // Stages: session.cpp.
  void begin();
  void step_handshake();
  void on_handshaken();
  void open();
  void start_flushing();
  void end(connect_failure why, closing how);
  void report(const connect_failure& why);
  void send_reason(const std::string& why);
  void drain();
  void close_socket();

  // Bytes: session_io.cpp.
  void pump_in();
  [[nodiscard]] bool may_read();
  void wait_in(tcp::socket::wait_type what);
  [[nodiscard]] bool on_bytes(std::size_t count);
  void note_progress();
  void deliver();
  [[nodiscard]] bool ask_for_room();
  void on_granted(std::shared_ptr<const void> reservation);
  void on_pause();
  void release_small(std::size_t bytes);
  void pump_out();
  void take_inbox();
  void wait_out(tcp::socket::wait_type what);

  // Time: session_time.cpp.
  void tick();
  void arm();
  [[nodiscard]] std::optional<std::string> complaint(clock::time_point now) const;
  [[nodiscard]] double minimum_rate() const;
  void restart_timers(clock::time_point now);
  [[nodiscard]] clock::time_point sign_due() const;
  [[nodiscard]] bool paused() const { return asking_ || starved_; }

  std::shared_ptr<io_core> core_;  // first, so that it outlives the socket and the timer
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::unique_ptr<stream> stream_;
  peer other_;
  const bool server_;
  const bool secured_;
  const channel_settings settings_;
  budget_ptr room_;
  session_hooks hooks_;
  channel_events events_;

  stage stage_ = stage::handshake;
  bool opened_ = false;
  frame_reader reader_;
  frame_writer writer_;
  bool reading_ = false;  // a pending wait or handler will continue reading
  bool writing_ = false;
  bool asking_ = false;  // requesting bytes of the budget
  budget::ticket ticket_ = 0;

  clock::time_point born_;
  clock::time_point due_;           // when the timer should fire
  clock::time_point last_in_;       // any bytes
  clock::time_point last_out_;      // any bytes
  clock::time_point heartbeat_at_;  // the last time for a heartbeat or a busy
  clock::time_point frame_began_;   // the incoming frame
  clock::time_point frame_moved_;   // time of its last bytes
  std::size_t frame_bytes_ = 0;     // bytes received by then
  std::size_t frame_base_ = 0;      // bytes received at frame_began_
  bool in_frame_ = false;
  clock::time_point out_moved_;  // bytes were sent, or started to wait
  clock::time_point busy_at_;    // time of the peer's last busy
  clock::time_point flush_until_;

  std::atomic<bool> closed_{false};
  std::atomic<bool> overflowed_{false};
  std::atomic<std::size_t> queued_{0};
  std::atomic<std::size_t> max_message_;  // of frames in both directions; the reader applies it when it continues
  std::atomic<std::size_t> unread_{0};    // small frames that the consumer holds, with their overhead
  std::atomic<bool> starved_{false};      // reading waits for the consumer to release frames
  std::mutex mutex_;                      // guards the two below
  std::vector<wire::encoded> inbox_;
  bool scheduled_ = false;
};

template <class Work>
void session::later(Work work) {
  // Weak: otherwise a queue that never runs again and its session would keep each other alive.
  asio::post(socket_.get_executor(), [weak = weak_from_this(), work = std::move(work)]() mutable {
    if (const auto self = weak.lock()) work(*self);
  });
}

}  // namespace furlong::actors::net::detail
