// A connection that a client cannot hold for long, nor fill memory through.
//
// What a client of the dashboard may use.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <httplib.h>
#include <mutex>
#include <poll.h>
#include <thread>
#include <vector>

namespace furlong::tools::dashboard {

struct http_limits {
  std::size_t threads = 8;                      ///< requests answered at once
  std::size_t waiting = 64;                     ///< connections that wait for one; more stay with the operating system
  std::size_t request = 16'384;                 ///< bytes of a request; there is one per connection
  std::chrono::milliseconds to_ask{5'000};      ///< for the whole request
  std::chrono::milliseconds to_listen{10'000};  ///< for the whole answer
  // The same while other connections wait for a thread. What a client that waited has to ask is there already.
  std::chrono::milliseconds to_ask_when_busy{100};
  std::chrono::milliseconds to_listen_when_busy{1'000};
};

/// One request and its answer over a socket, which it owns. Times are for the whole of each, not for single bytes: a
/// client that sends a byte now and then is cut off like one that sends none. One thread.
class deadline_stream final : public httplib::Stream {
 public:
  /// `waiting`: connections that wait for a thread
  deadline_stream(int socket, const http_limits& limits, const std::atomic<bool>& stopping,
                  const std::atomic<std::size_t>& waiting);
  /// Closes, after a moment for the client to read what it was sent.
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

// The threads that answer, and the connections that wait for one of them.

/// As the library's own pool, but bounded: when `most` wait, the thread that accepts connections waits too.
class connection_queue final : public httplib::TaskQueue {
 public:
  /// `waiting`: how many wait is kept there
  connection_queue(std::size_t threads, std::size_t most, std::atomic<std::size_t>& waiting);
  void enqueue(std::function<void()> answer) override;
  /// What waits is answered still.
  void shutdown() override;

 private:
  void work();

  const std::size_t most_;
  std::atomic<std::size_t>& count_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable emptied_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace furlong::tools::dashboard
