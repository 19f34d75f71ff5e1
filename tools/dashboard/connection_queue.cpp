#include "tools/dashboard/detail/deadline_stream.hpp"

namespace furlong::tools::dashboard {

connection_queue::connection_queue(std::size_t threads, std::size_t most, std::atomic<std::size_t>& waiting)
    : most_(most), count_(waiting) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void connection_queue::enqueue(std::function<void()> answer) {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [this] { return waiting_.size() < most_; });
  waiting_.push_back(std::move(answer));
  count_ = waiting_.size();
  filled_.notify_one();
}

void connection_queue::shutdown() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  filled_.notify_all();
  for (auto& one : threads_) one.join();
}

void connection_queue::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto answer = std::move(waiting_.front());
    waiting_.pop_front();
    count_ = waiting_.size();
    emptied_.notify_one();
    lock.unlock();
    answer();
  }
}

}  // namespace furlong::tools::dashboard
