#include "scenarios/python/memory_room.hpp"

#include <algorithm>

#include "base/shared_memory.hpp"

namespace furlong::scenarios {

void memory_room::expect(const float* values, std::size_t size) {
  if (!shared_offset(values)) expect_new(size);
}

void memory_room::expect_new(std::size_t size) {
  needed_ += size;
  if (buffer_.size() < needed_) buffer_.resize(needed_);
}

std::uint64_t memory_room::place(const float* values, std::size_t size, bool copied) {
  if (const auto offset = shared_offset(values)) return *offset;
  if (copied) std::copy_n(values, size, buffer_.data() + used_);
  return place_new(size);
}

std::uint64_t memory_room::place_new(std::size_t size) {
  const auto* room = buffer_.data() + used_;
  used_ += size;
  return shared_offset(room).value();
}

void memory_room::fetch(float* values, std::size_t size) {
  if (!shared_offset(values)) fetch_new(values, size);
}

void memory_room::fetch_new(float* values, std::size_t size) {
  std::copy_n(buffer_.data() + used_, size, values);
  used_ += size;
}

void memory_room::skip(const float* values, std::size_t size) {
  if (!shared_offset(values)) used_ += size;
}

void memory_room::expect(const exchanged_array& array) {
  if (array.in != nullptr) expect(array.in, array.size);
  if (array.out != nullptr) expect_new(array.size);
}

std::array<std::uint64_t, 2> memory_room::place(const exchanged_array& array) {
  const auto offset = array.in == nullptr ? not_wanted : place(array.in, array.size, true);
  return {offset, array.out == nullptr ? not_wanted : place_new(array.size)};
}

void memory_room::fetch(const exchanged_array& array) {
  if (array.in != nullptr) skip(array.in, array.size);
  if (array.out != nullptr) fetch_new(array.out, array.size);
}

}  // namespace furlong::scenarios
