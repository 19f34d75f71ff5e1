// From the bytes of a stream to frames, piece by piece, without input or output of its own.
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

/// The caller reads into space(), says how much came, and does what the answer says. Nothing is allocated for a frame
/// before its length was judged and, above `ask_above` bytes, granted. Not thread-safe.
class frame_reader {
 public:
  enum class answer {
    more,    ///< go on
    frame,   ///< take() it, then go on
    ask,     ///< call grant() when there is room for wanted() bytes; read nothing before
    sign,    ///< a heartbeat: go on
    busy,    ///< the other side says that it will not read for a while: go on
    closed,  ///< the other side closes; text() may say why
    broken,  ///< no stream of this protocol: text() says why
  };

  /// @param max_message longer frames break the stream
  /// @param ask_above   length of the longest frame that needs no grant
  frame_reader(std::size_t max_message, std::size_t ask_above) : max_message_(max_message), ask_above_(ask_above) {}
  /// For frames that are announced from now on.
  void limit(std::size_t max_message) { max_message_ = max_message; }

  /// Where the next bytes go. Never empty while the last answer was more, frame, sign or busy.
  [[nodiscard]] std::span<std::byte> space();
  /// @param count bytes of space() that were filled, at least 1. Throws std::bad_alloc.
  [[nodiscard]] answer filled(std::size_t count);

  [[nodiscard]] std::size_t wanted() const { return total_; }
  /// Answers `ask`. @param held is kept as long as the frame's bytes. Throws std::bad_alloc.
  void grant(std::shared_ptr<const void> held);
  /// The frame that is complete.
  [[nodiscard]] received take();
  [[nodiscard]] const std::string& text() const { return text_; }

  /// A frame has begun and is not complete.
  [[nodiscard]] bool inside_frame() const { return inside_; }
  /// Bytes of its body that came so far.
  [[nodiscard]] std::size_t arrived() const { return done_ + (state_ == state::body ? filled_ : 0); }
  /// Drops the frame under way and what it holds.
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
  std::array<std::byte, 256> small_{};  // headers, totals and reasons on their way in
  std::size_t filled_ = 0;              // of what the state expects
  std::size_t expected_ = header_bytes;

  received frame_;
  bool inside_ = false;
  bool last_ = false;      // the piece under way is its frame's last
  std::size_t total_ = 0;  // length of the frame
  std::size_t piece_ = 0;  // length of the piece under way
  std::size_t done_ = 0;   // bytes in earlier pieces
  std::string text_;
};

}  // namespace furlong::actors::net::detail
