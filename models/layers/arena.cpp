#include "models/layers/arena.hpp"

#include <algorithm>

#include "base/large_memory.hpp"

namespace furlong::models {

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t line_floats = cache_line / sizeof(float);
constexpr std::size_t smallest_chunk = std::size_t{1} << 16;

}  // namespace

void arena::free_floats::operator()(float* block) const { free_large(block); }

void arena::add_chunk(std::size_t at_least) {
  const auto size = std::max(at_least, smallest_chunk);
  std::unique_ptr<float, free_floats> block(static_cast<float*>(allocate_large(size * sizeof(float))));
  chunks_.push_back({std::move(block), size, 0});
}

std::span<float> arena::floats(std::size_t count) {
  const auto taken = (count + line_floats - 1) / line_floats * line_floats;
  if (chunks_.empty() || chunks_.back().size - chunks_.back().used < taken) add_chunk(taken);
  auto& last = chunks_.back();
  float* begin = last.data.get() + last.used;
  last.used += taken;
  return {begin, count};
}

std::span<float> arena::zeros(std::size_t count) {
  const auto made = floats(count);
  std::ranges::fill(made, 0.0F);
  return made;
}

void arena::clear() {
  std::size_t used = 0;
  for (const auto& each : chunks_) used += each.used;
  if (chunks_.size() > 1) {  // one chunk for all of it next time
    chunks_.clear();
    add_chunk(used + used / 4);
  } else if (!chunks_.empty()) {
    chunks_.front().used = 0;
  }
}

arena& step_arena() {
  thread_local arena of_thread;
  return of_thread;
}

}  // namespace furlong::models
