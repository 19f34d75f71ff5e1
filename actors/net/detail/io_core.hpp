// Shared by all connections of one transport: the queue of work, and the list of objects that end with it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>  // boost/asio/awaitable.hpp uses std::exchange without it

namespace furlong::actors::net::detail {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// An object with work in an io_core until it is aborted.
class endable {
 public:
  virtual ~endable() = default;
  /// Ends soon, without waiting. From any thread.
  virtual void abort() = 0;
};

/// Thread-safe.
class io_core {
 public:
  /// False after stop(): then `one` must not start.
  [[nodiscard]] bool add(const std::shared_ptr<endable>& one);
  void remove(const endable* one);
  /// Aborts all. The context runs out of work soon after.
  void stop();
  /// Waits until all have ended, and at most so long.
  void wait_ended(std::chrono::milliseconds longest);

  /// An executor that runs one handler at a time.
  [[nodiscard]] asio::any_io_executor strand() { return asio::make_strand(context_); }
  [[nodiscard]] asio::io_context& context() { return context_; }

 private:
  asio::io_context context_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool stopped_ = false;
  std::unordered_map<const endable*, std::weak_ptr<endable>> alive_;
};

}  // namespace furlong::actors::net::detail
