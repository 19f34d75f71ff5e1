// Frames of any content, for tests of what carries them. Only wire's encoder makes frames elsewhere; here its members
// are reached through an explicit instantiation, which does not look at access.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "wire/encode.hpp"

namespace furlong::tests {

namespace detail {
void refill(wire::encoded& frame, std::shared_ptr<const std::uint64_t[]> words, std::size_t count);

template <auto Words, auto Count>
struct opener {
  friend void refill(wire::encoded& frame, std::shared_ptr<const std::uint64_t[]> words, std::size_t count) {
    frame.*Words = std::move(words);
    frame.*Count = count;
  }
};
template struct opener<&wire::encoded::words_, &wire::encoded::count_>;
}  // namespace detail

/// @param words 8 bytes each; the content follows from `seed`
inline wire::encoded raw_frame(std::size_t words, std::uint64_t seed = 0) {
  auto frame = wire::encoder::encode(federated::task_id{});
  const auto content = std::make_shared<std::uint64_t[]>(words + 1);
  for (std::size_t i = 0; i < words; ++i) content.get()[i] = (seed + i) * 0x9e3779b97f4a7c15U;
  detail::refill(frame, content, words);
  return frame;
}

/// A frame of these bytes, a multiple of 8.
inline wire::encoded raw_frame(std::span<const std::byte> data) {
  auto frame = wire::encoder::encode(federated::task_id{});
  const auto content = std::make_shared<std::uint64_t[]>(data.size() / 8 + 1);
  if (!data.empty()) std::memcpy(content.get(), data.data(), data.size());
  detail::refill(frame, content, data.size() / 8);
  return frame;
}

}  // namespace furlong::tests
