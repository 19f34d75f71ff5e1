#include "scenarios/python/memory_room.hpp"

#include <algorithm>

#include "base/shared_memory.hpp"

namespace furlong::scenarios {

void memory_room::expect(const float* values, std::size_t size) {
  if (shared_offset(values)) return;
  needed_ += size;
  if (buffer_.size() < needed_) buffer_.resize(needed_);
}

std::uint64_t memory_room::place(const float* values, std::size_t size, bool copied) {
  if (const auto offset = shared_offset(values)) return *offset;
  float* room = buffer_.data() + used_;
  used_ += size;
  if (copied) std::copy_n(values, size, room);
  return shared_offset(room).value();
}

void memory_room::fetch(float* values, std::size_t size) {
  if (shared_offset(values)) return;
  std::copy_n(buffer_.data() + used_, size, values);
  used_ += size;
}

void memory_room::skip(const float* values, std::size_t size) {
  if (!shared_offset(values)) used_ += size;
}

}  // namespace furlong::scenarios
