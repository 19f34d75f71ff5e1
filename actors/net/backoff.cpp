#include "actors/net/backoff.hpp"

#include <algorithm>
#include <utility>

namespace furlong::actors::net {

backoff::backoff(random_stream random, bounds within)
    : backoff([random]() mutable { return static_cast<double>(random.uniform()); }, within) {}

backoff::backoff(std::function<double()> uniform, bounds within)
    : uniform_(std::move(uniform)), within_(within), ceiling_(within.first) {}

std::chrono::milliseconds backoff::next() {
  const auto wait = std::chrono::duration<double, std::milli>(ceiling_) * uniform_();
  ceiling_ = std::min(ceiling_ * 2, within_.longest);
  return std::chrono::duration_cast<std::chrono::milliseconds>(wait);
}

}  // namespace furlong::actors::net
