#include "actors/net/transport.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "actors/net/detail/io_core.hpp"

namespace furlong::actors::net {

namespace detail {

bool io_core::add(const std::shared_ptr<endable>& one) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  alive_.emplace(one.get(), one);
  return true;
}

void io_core::remove(const endable* one) {
  const std::lock_guard lock(mutex_);
  alive_.erase(one);
  if (alive_.empty()) ended_.notify_all();
}

void io_core::wait_ended(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, longest, [this] { return alive_.empty(); });
}

void io_core::stop() {
  std::vector<std::shared_ptr<endable>> all;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [one, still_there] : alive_)
      if (auto held = still_there.lock()) all.push_back(std::move(held));
  }
  for (const auto& one : all) one->abort();
}

}  // namespace detail

namespace {

/// Blocks signals on these threads: other threads of the program handle them. SIGPIPE in particular, because OpenSSL
/// writes to sockets without MSG_NOSIGNAL, and a closed connection must not end the process.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// An exception of a handler can only be a lack of memory: its connection ends by its timeouts.
void run(boost::asio::io_context& context) {
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace

struct transport::threads_of {
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
  std::vector<std::thread> all;
};

transport::transport(std::size_t threads)
    : core_(std::make_shared<detail::io_core>()), threads_(std::make_unique<threads_of>()) {
  threads_->work.emplace(core_->context().get_executor());
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
    threads_->all.emplace_back([core = core_] {
      block_signals();
      run(core->context());
    });
}

void transport::wait_ended(std::chrono::milliseconds longest) { core_->wait_ended(longest); }

transport::~transport() {
  core_->stop();
  threads_->work.reset();
  for (auto& thread : threads_->all) thread.join();
}

}  // namespace furlong::actors::net
