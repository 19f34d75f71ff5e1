#include "actors/aggregator_transport/assembler.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace furlong::actors::aggregator_transport {

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
