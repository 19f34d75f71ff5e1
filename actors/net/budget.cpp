#include "actors/net/budget.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace furlong::actors::net {

std::shared_ptr<budget> budget::make(std::size_t bytes) { return std::shared_ptr<budget>(new budget(bytes)); }

budget::reservation budget::try_reserve(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!requests_.empty() || bytes > capacity_ - reserved_) return nullptr;
    reserved_ += bytes;
    peak_ = std::max(peak_, reserved_);
  }
  return make_reservation(bytes);
}

budget::ticket budget::reserve(std::size_t bytes, granted call) {
  std::unique_lock lock(mutex_);
  const auto id = ++last_;
  requests_.push_back({id, bytes, std::move(call)});
  serve(std::move(lock));
  return id;
}

void budget::cancel(ticket which) {
  std::unique_lock lock(mutex_);
  const auto at = std::find_if(requests_.begin(), requests_.end(), [&](const request& r) { return r.id == which; });
  if (at == requests_.end()) return;
  const auto dropped = std::move(*at);  // destroyed outside the lock, because that may run other code
  requests_.erase(at);
  serve(std::move(lock));
}

void budget::release(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  reserved_ -= bytes;
  serve(std::move(lock));
}

void budget::serve(std::unique_lock<std::mutex> lock) {
  std::vector<request> served;
  while (!requests_.empty() && requests_.front().bytes <= capacity_ - reserved_) {
    reserved_ += requests_.front().bytes;
    served.push_back(std::move(requests_.front()));
    requests_.pop_front();
  }
  peak_ = std::max(peak_, reserved_);
  lock.unlock();
  for (auto& one : served) one.call(make_reservation(one.bytes));
}

budget::reservation budget::make_reservation(std::size_t bytes) {
  return {this, [self = shared_from_this(), bytes](const budget*) { self->release(bytes); }};
}

std::size_t budget::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}
std::size_t budget::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}
std::size_t budget::waiting() const {
  const std::lock_guard lock(mutex_);
  return requests_.size();
}

}  // namespace furlong::actors::net
