#include "actors/net/detail/frame_writer.hpp"

#include <algorithm>
#include <utility>

namespace furlong::actors::net::detail {

void frame_writer::push(wire::encoded frame) { frames_.push_back(std::move(frame)); }

void frame_writer::push_heartbeat(piece_kind heartbeat_or_busy) {
  const auto header = encode({0, true, heartbeat_or_busy});
  signs_.insert(signs_.end(), header.begin(), header.end());
}

void frame_writer::push_close(std::string_view why) {
  const auto reason = std::as_bytes(std::span(why.substr(0, longest_reason)));
  const auto header = encode({static_cast<std::uint32_t>(reason.size()), true, piece_kind::close});
  close_.assign(header.begin(), header.end());
  close_.insert(close_.end(), reason.begin(), reason.end());
}

bool frame_writer::empty() const { return staged_.empty() && frames_.empty() && signs_.empty() && close_.empty(); }

std::span<const std::byte> frame_writer::next() {
  if (staged_.empty() && !direct_) gather();
  if (!staged_.empty()) return std::span<const std::byte>(staged_).subspan(staged_sent_);
  if (direct_) return frames_.front().bytes().subspan(offset_, piece_);
  return {};
}

void frame_writer::begin_piece() {
  const auto size = frames_.front().size();
  const auto left = size - offset_;
  piece_ = std::min(left, largest_piece);
  stage(encode({static_cast<std::uint32_t>(piece_), piece_ == left, piece_kind::data}));
  if (offset_ == 0 && piece_ < size) stage(encode_total(size));
}

/// Fills the staging buffer. A piece that is longer than the rest of it continues from its own bytes.
void frame_writer::gather() {
  for (;;) {
    if (piece_ == 0) {
      stage(signs_);
      signs_.clear();
      if (frames_.empty()) {
        stage(close_);
        close_.clear();
        return;
      }
      if (room() < header_bytes + total_bytes || room() > chunk_bytes) return;
      begin_piece();
    }
    const auto count = std::min(piece_, room());
    stage(frames_.front().bytes().subspan(offset_, count));
    staged_body_ += count;
    offset_ += count;
    piece_ -= count;
    if (piece_ > 0) {
      direct_ = true;
      return;
    }
    if (offset_ == frames_.front().size()) {
      frames_.pop_front();
      offset_ = 0;
    }
  }
}

std::size_t frame_writer::consumed(std::size_t count) {
  if (!staged_.empty()) {
    staged_sent_ += count;
    if (staged_sent_ < staged_.size()) return 0;
    staged_.clear();
    staged_sent_ = 0;
    return std::exchange(staged_body_, 0);
  }
  offset_ += count;
  piece_ -= count;
  if (piece_ == 0) direct_ = false;
  if (offset_ == frames_.front().size()) {
    frames_.pop_front();
    offset_ = 0;
  }
  return count;
}

bool frame_writer::abandon() {
  const bool midway = staged_sent_ > 0 || offset_ > 0;
  frames_.clear();
  signs_.clear();
  close_.clear();
  staged_.clear();
  staged_sent_ = staged_body_ = offset_ = piece_ = 0;
  direct_ = false;
  return !midway;
}

}  // namespace furlong::actors::net::detail
