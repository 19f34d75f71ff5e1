// Encodes frames into a byte stream, without input or output of its own.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "actors/net/detail/framing.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::net::detail {

/// Small pieces are gathered into chunks of about 16 KB, the longest record of TLS; the rest of a large piece is sent
/// from the frame's own bytes, which are shared. Heartbeats precede the next piece, also within a large frame. Not
/// thread-safe.
class frame_writer {
 public:
  void push(wire::encoded frame);
  void push_heartbeat(piece_kind heartbeat_or_busy);
  /// Appends a close; nothing may be pushed afterwards. @param why is truncated to longest_reason bytes
  void push_close(std::string_view why);

  [[nodiscard]] bool empty() const;
  /// The next bytes to send; empty if there are none. Stays the same, from its start, until all of it is consumed.
  [[nodiscard]] std::span<const std::byte> next();
  /// The first `count` bytes of next() were sent. Returns the number of bytes of frames that are thereby done.
  std::size_t consumed(std::size_t count);
  /// Drops unsent data; true if a close may still follow, false in the middle of a piece.
  bool abandon();

 private:
  static constexpr std::size_t chunk_bytes = 16 << 10;

  void gather();
  void begin_piece();
  std::size_t room() const { return chunk_bytes - staged_.size(); }
  void stage(std::span<const std::byte> bytes) { staged_.insert(staged_.end(), bytes.begin(), bytes.end()); }

  std::deque<wire::encoded> frames_;
  std::size_t offset_ = 0;  // bytes of the first frame that were staged or sent
  std::size_t piece_ = 0;   // bytes left of the current piece
  std::vector<std::byte> signs_;
  std::vector<std::byte> close_;

  std::vector<std::byte> staged_;  // a chunk of copies
  std::size_t staged_sent_ = 0;
  std::size_t staged_body_ = 0;  // bytes of frames among them
  bool direct_ = false;          // the next chunk is the rest of the piece, in place
};

}  // namespace furlong::actors::net::detail
