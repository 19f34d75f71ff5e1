// The threads that answer, and the connections that wait for one of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <httplib.h>
#include <mutex>
#include <thread>
#include <vector>

namespace furlong::tools::dashboard {

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
