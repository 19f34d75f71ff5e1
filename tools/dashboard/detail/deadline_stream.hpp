// A connection that a client cannot hold for long, nor fill memory through.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <httplib.h>
#include <poll.h>

#include "tools/dashboard/detail/http_limits.hpp"

namespace furlong::tools::dashboard {

/// One request and its answer over a socket, which it owns. Times are for the whole of each, not for single bytes: a
/// client that sends a byte now and then is cut off like one that sends none. One thread.
class deadline_stream final : public httplib::Stream {
 public:
  /// `waiting`: connections that wait for a thread
  deadline_stream(int socket, const http_limits& limits, const std::atomic<bool>& stopping,
                  const std::atomic<std::size_t>& waiting);
  /// Closes, after a moment for the client to read what it was told.
  ~deadline_stream() override;
  deadline_stream(const deadline_stream&) = delete;
  deadline_stream& operator=(const deadline_stream&) = delete;

  [[nodiscard]] bool is_readable() const override { return failure_ == failure::none && wait_for(POLLIN); }
  [[nodiscard]] bool is_writable() const override { return failure_ == failure::none && wait_for(POLLOUT); }
  /// After a failure it fails, so that the library answers nothing.
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  using httplib::Stream::write;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  /// Not the descriptor: the library refuses those above 1023, which a busy server has, for it uses select().
  [[nodiscard]] socket_t socket() const override { return 0; }

  /// Says why, when the request was too slow or too large.
  void answer_failure();

 private:
  enum class failure : std::uint8_t { none, closed, slow, large };
  using clock = std::chrono::steady_clock;

  [[nodiscard]] bool wait_for(short what) const;
  [[nodiscard]] bool fill();
  [[nodiscard]] bool send_all(const char* from, std::size_t size);

  int socket_;
  const http_limits& limits_;
  const std::atomic<bool>& stopping_;
  const std::atomic<std::size_t>& waiting_;
  clock::time_point until_;
  clock::time_point until_when_busy_;
  bool answering_ = false;
  failure failure_ = failure::none;
  std::array<char, 4096> buffer_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;  ///< bytes from the socket
};

}  // namespace furlong::tools::dashboard
