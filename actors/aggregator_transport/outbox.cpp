#include "actors/aggregator_transport/outbox.hpp"

#include <algorithm>
#include <utility>

namespace furlong::actors::aggregator_transport {

bool outbox::push(wire::encoded frame) {
  const std::scoped_lock lock(mutex_);
  if (shut_) return false;
  if (frame.size() > max_message_) {
    too_long_ = frame.size();
    shut_ = true;
    return true;
  }
  if (frame.size() > limit_ - waiting_bytes_) {
    overflowed_ = true;
    shut_ = true;
    return true;
  }
  waiting_bytes_ += frame.size();
  waiting_.push_back(std::move(frame));
  return !std::exchange(woken_, true);
}

std::optional<piece> outbox::cut() {
  const std::scoped_lock lock(mutex_);
  woken_ = false;
  if (waiting_.empty()) return std::nullopt;
  piece next;
  next.sequence = sequence_++;
  std::size_t room = piece_bytes;
  while (!waiting_.empty() && next.slices.size() < piece_slices) {
    const auto bytes = waiting_.front().bytes();
    const std::size_t length = std::min(room, bytes.size() - offset_);
    if (length == 0 && !bytes.empty()) break;
    next.slices.push_back({bytes.size(), offset_, bytes.subspan(offset_, length)});
    room -= length;
    offset_ += length;
    if (offset_ < bytes.size()) {
      next.frames.push_back(waiting_.front());
      break;
    }
    next.frames.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    offset_ = 0;
  }
  const std::size_t size = piece_bytes - room;
  waiting_bytes_ -= size;
  in_flight_.push_back(size);
  in_flight_bytes_ += size;
  return next;
}

bool outbox::acknowledge() {
  const std::scoped_lock lock(mutex_);
  if (in_flight_.empty()) return false;
  in_flight_bytes_ -= in_flight_.front();
  in_flight_.pop_front();
  return true;
}

void outbox::shut() {
  const std::scoped_lock lock(mutex_);
  shut_ = true;
}

void outbox::abandon() {
  const std::scoped_lock lock(mutex_);
  shut_ = true;
  waiting_.clear();
  in_flight_.clear();
  offset_ = waiting_bytes_ = in_flight_bytes_ = 0;
}

std::size_t outbox::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return in_flight_.size();
}

std::size_t outbox::queued() const {
  const std::scoped_lock lock(mutex_);
  return waiting_bytes_ + in_flight_bytes_;
}

bool outbox::drained() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.empty() && in_flight_.empty();
}

bool outbox::overflowed() const {
  const std::scoped_lock lock(mutex_);
  return overflowed_;
}

std::size_t outbox::too_long() const {
  const std::scoped_lock lock(mutex_);
  return too_long_;
}

}  // namespace furlong::actors::aggregator_transport
