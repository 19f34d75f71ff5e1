// Where arrays of a request are in the memory file, which trainers map (base/shared_memory.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/large_memory.hpp"

namespace furlong::scenarios {

/// The offset of an array that is not wanted.
constexpr std::uint64_t not_wanted = UINT64_MAX;

/// An array that a trainer reads, and where to what becomes of it, which lies apart; null: not there.
struct exchanged_array {
  const float* in = nullptr;
  float* out = nullptr;
  std::size_t size = 0;
};

/// Gives arrays that are not in the file room in a buffer that is. All arrays of a request are expected first; then
/// each is placed, in the same order.
class memory_room {
 public:
  explicit memory_room(large_floats& buffer) : buffer_(buffer) {}

  void expect(const float* values, std::size_t size);
  /// The same of what a trainer writes, and which must not be what it reads: it has room in the buffer alone.
  void expect_new(std::size_t size);
  /// The offset of the array in the file.
  /// @param copied whether the room begins with the array's values
  [[nodiscard]] std::uint64_t place(const float* values, std::size_t size, bool copied);
  [[nodiscard]] std::uint64_t place_new(std::size_t size);
  /// After the reply, in the order of place(): what the trainer wrote into the room of an array, to the array.
  void fetch(float* values, std::size_t size);
  /// The same of place_new().
  void fetch_new(float* values, std::size_t size);
  /// Goes past the room of an array.
  void skip(const float* values, std::size_t size);

  // The same of two arrays; offsets are not_wanted where there is none.
  void expect(const exchanged_array& array);
  [[nodiscard]] std::array<std::uint64_t, 2> place(const exchanged_array& array);
  void fetch(const exchanged_array& array);

 private:
  large_floats& buffer_;
  std::size_t needed_ = 0;
  std::size_t used_ = 0;
};

}  // namespace furlong::scenarios
