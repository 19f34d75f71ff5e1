#include "actors/net/detail/frame_reader.hpp"

#include <utility>

namespace furlong::actors::net::detail {

namespace {

/// Untrusted text, sanitized for a log.
std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const auto byte : bytes) {
    const auto c = std::to_integer<char>(byte);
    text.push_back(' ' <= c && c <= '~' ? c : '?');
  }
  return text;
}

}  // namespace

std::span<std::byte> frame_reader::space() {
  if (state_ == state::body) return frame_.bytes().subspan(done_ + filled_, piece_ - filled_);
  return std::span(small_).subspan(filled_, expected_ - filled_);
}

frame_reader::answer frame_reader::filled(std::size_t count) {
  filled_ += count;
  if (filled_ < expected_) return answer::more;
  switch (state_) {
    case state::header: return on_header();
    case state::total: return on_total();
    case state::reason: text_ = printable(std::span<const std::byte>(small_).first(expected_)); return answer::closed;
    case state::asking:
    case state::body: break;
  }
  return on_piece_end();
}

frame_reader::answer frame_reader::expect(state next, std::size_t bytes) {
  state_ = next;
  expected_ = bytes;
  filled_ = 0;
  return answer::more;
}

frame_reader::answer frame_reader::on_header() {
  const auto header = decode(std::span<const std::byte>(small_).first<header_bytes>());
  if (!header) return broken("these bytes are no frame");
  switch (header->kind) {
    case piece_kind::heartbeat: expect(state::header, header_bytes); return answer::heartbeat;
    case piece_kind::busy: expect(state::header, header_bytes); return answer::busy;
    case piece_kind::close:
      if (header->length == 0) return answer::closed;
      return expect(state::reason, header->length);
    case piece_kind::data: break;
  }
  return on_data(*header);
}

frame_reader::answer frame_reader::on_data(const piece_header& header) {
  piece_ = header.length;
  last_ = header.last;
  if (inside_) {
    const auto left = total_ - done_;
    if (last_ ? piece_ != left : piece_ >= left) return broken("the pieces of a frame do not add up to its length");
    return expect(state::body, piece_);
  }
  if (!last_) return expect(state::total, total_bytes);
  if (piece_ > max_message_) return too_long(piece_);
  total_ = piece_;
  return begin_frame();
}

frame_reader::answer frame_reader::on_total() {
  const auto total = decode_total(std::span<const std::byte>(small_).first<total_bytes>());
  // A frame of one piece announces nothing, so this one must be longer than its first piece.
  if (total <= piece_) return broken("a frame announces less than its first piece holds");
  if (total > max_message_) return too_long(total);
  total_ = static_cast<std::size_t>(total);
  return begin_frame();
}

frame_reader::answer frame_reader::begin_frame() {
  inside_ = true;
  done_ = 0;
  if (total_ > ask_above_) {
    expect(state::asking, 0);
    return answer::ask;
  }
  frame_ = received(total_);
  expect(state::body, piece_);
  return piece_ == 0 ? on_piece_end() : answer::more;
}

void frame_reader::grant(std::shared_ptr<const void> held) {
  frame_ = received(total_);
  frame_.hold(std::move(held));
  expect(state::body, piece_);
}

frame_reader::answer frame_reader::on_piece_end() {
  done_ += piece_;
  expect(state::header, header_bytes);
  if (!last_) return answer::more;
  inside_ = false;
  return answer::frame;
}

received frame_reader::take() {
  done_ = 0;
  return std::exchange(frame_, received());
}

void frame_reader::drop() {
  frame_ = received();
  inside_ = false;
}

frame_reader::answer frame_reader::too_long(std::uint64_t bytes) {
  return broken("a frame of " + std::to_string(bytes) + " bytes is announced, and " + std::to_string(max_message_) +
                " are allowed");
}

frame_reader::answer frame_reader::broken(std::string why) {
  text_ = std::move(why);
  return answer::broken;
}

}  // namespace furlong::actors::net::detail
