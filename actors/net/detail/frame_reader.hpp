// Decodes a byte stream into frames, without input or output of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "actors/net/channel.hpp"
#include "actors/net/detail/framing.hpp"

namespace furlong::actors::net::detail {

/// The caller reads into space(), reports the number of bytes, and acts on the answer. Memory for a frame is allocated
/// only after its length was checked and, above `ask_above` bytes, granted. Not thread-safe.
class frame_reader {
 public:
  enum class answer {
    more,       ///< continue
    frame,      ///< take() it, then continue
    ask,        ///< call grant() when wanted() bytes are reserved; read nothing before
    heartbeat,  ///< continue
    busy,       ///< the peer will not read for a while: continue
    closed,     ///< the peer closes; text() may say why
    broken,     ///< not this protocol: text() says why
  };

  /// @param max_message longer frames break the stream
  /// @param ask_above   length of the longest frame that needs no grant
  frame_reader(std::size_t max_message, std::size_t ask_above) : max_message_(max_message), ask_above_(ask_above) {}
  /// Applies to frames announced later.
  void limit(std::size_t max_message) { max_message_ = max_message; }

  /// The buffer for the next bytes. Not empty while the last answer was more, frame, heartbeat or busy.
  [[nodiscard]] std::span<std::byte> space();
  /// @param count bytes of space() that were filled, at least 1. Throws std::bad_alloc.
  [[nodiscard]] answer filled(std::size_t count);

  [[nodiscard]] std::size_t wanted() const { return total_; }
  /// Answers `ask`. @param held is kept as long as the frame's bytes. Throws std::bad_alloc.
  void grant(std::shared_ptr<const void> held);
  /// The complete frame.
  [[nodiscard]] received take();
  [[nodiscard]] const std::string& text() const { return text_; }

  /// True if a frame has begun and is not complete.
  [[nodiscard]] bool inside_frame() const { return inside_; }
  /// Bytes of its body received so far.
  [[nodiscard]] std::size_t arrived() const { return done_ + (state_ == state::body ? filled_ : 0); }
  /// Drops the incomplete frame and its reservation.
  void drop();

 private:
  enum class state { header, total, asking, body, reason };

  answer expect(state next, std::size_t bytes);
  answer on_header();
  answer on_data(const piece_header& header);
  answer on_total();
  answer begin_frame();
  answer on_piece_end();
  answer too_long(std::uint64_t bytes);
  answer broken(std::string why);

  std::size_t max_message_;
  std::size_t ask_above_;
  state state_ = state::header;
  std::array<std::byte, 256> small_{};  // incomplete headers, totals and reasons
  std::size_t filled_ = 0;              // bytes of what the state expects
  std::size_t expected_ = header_bytes;

  received frame_;
  bool inside_ = false;
  bool last_ = false;      // the current piece is its frame's last
  std::size_t total_ = 0;  // length of the frame
  std::size_t piece_ = 0;  // length of the current piece
  std::size_t done_ = 0;   // bytes in earlier pieces
  std::string text_;
};

}  // namespace furlong::actors::net::detail
