#include "base/random.hpp"

#include <cmath>

#include "base/exact_math.hpp"

namespace furlong {

random_stream::random_stream(std::uint64_t seed, purpose why, std::uint32_t round, std::uint32_t client,
                             std::uint32_t part)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(why) | part << 8, round, client} {}

void random_stream::refill() {
  constexpr std::uint64_t multiplier_a = 0xD2511F53U;
  constexpr std::uint64_t multiplier_b = 0xCD9E8D57U;
  constexpr std::uint32_t weyl_a = 0x9E3779B9U;
  constexpr std::uint32_t weyl_b = 0xBB67AE85U;
  auto x = counter_;
  auto key = key_;
  for (int turn = 0; turn < 10; ++turn) {
    const std::uint64_t a = multiplier_a * x[0];
    const std::uint64_t b = multiplier_b * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += weyl_a;
    key[1] += weyl_b;
  }
  block_ = x;
  ++counter_[0];
  used_ = 0;
}

random_stream::result_type random_stream::operator()() {
  if (used_ == 4) refill();
  return block_[used_++];
}

float random_stream::uniform() { return static_cast<float>((*this)() >> 8) * 0x1p-24F; }

float random_stream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  // 1 - uniform lies in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2.0 * exact::log(1.0 - static_cast<double>(uniform())));
  const auto turns = static_cast<double>(uniform());
  spare_ = static_cast<float>(radius * exact::sin_of_turns(turns));
  has_spare_ = true;
  return static_cast<float>(radius * exact::cos_of_turns(turns));
}

std::uint32_t random_stream::below(std::uint32_t bound) {
  std::uint64_t product = std::uint64_t{(*this)()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = (0U - bound) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{(*this)()} * bound;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace furlong
