#include "actors/aggregator_transport/outbox.hpp"

#include <algorithm>
#include <new>
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

std::optional<std::string> assembler::begin(const slice& first) {
  if (first.offset != 0) return "a frame began in its middle";
  if (first.total > max_message_)
    return "a frame of " + std::to_string(first.total) + " bytes was announced; network.max_message is " +
           std::to_string(max_message_);
  try {
    frame_.emplace(first.total);
  } catch (const std::bad_alloc&) {
    return "there is no memory for a frame of " + std::to_string(first.total) + " bytes";
  }
  filled_ = 0;
  return std::nullopt;
}

std::optional<std::string> assembler::add(const piece& next, const std::function<void(net::received)>& on_frame) {
  if (!next.flaw.empty()) return next.flaw;
  if (next.sequence != sequence_) return "a piece of a frame is missing";
  ++sequence_;
  for (const auto& one : next.slices) {
    if (!frame_) {
      if (auto broken = begin(one)) return broken;
    }
    const auto to = frame_->bytes();
    if (one.total != to.size() || one.offset != filled_ || one.bytes.size() > to.size() - filled_ ||
        (one.bytes.empty() && !to.empty()))
      return "the parts of a frame do not follow each other";
    std::copy(one.bytes.begin(), one.bytes.end(), to.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += one.bytes.size();
    if (filled_ == to.size()) on_frame(*std::exchange(frame_, std::nullopt));
  }
  return std::nullopt;
}

}  // namespace furlong::actors::aggregator_transport
