#include "federated/privacy/discrete_gaussian.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace furlong::federated::privacy {

namespace {

/// The largest integer whose square is at most this.
std::uint64_t whole_root(std::uint64_t of) {
  std::uint64_t root = 0;
  for (auto bit = std::uint64_t{1} << 31U; bit != 0; bit >>= 1U)
    if ((root + bit) * (root + bit) <= of) root += bit;
  return root;
}

}  // namespace

discrete_gaussian::discrete_gaussian(std::uint64_t variance, word_source& from)
    : from_(from), variance_(variance), scale_(whole_root(variance) + 1) {
  if (variance == 0 || variance > most_variance)
    throw std::invalid_argument("a discrete Gaussian has a variance of 1 to 2^52");
}

std::uint64_t discrete_gaussian::word() {
  if (used_ == words_.size()) {
    from_.fill(words_);
    used_ = 0;
  }
  return words_[used_++];
}

/// Uniform below `bound` > 0.
discrete_gaussian::wide discrete_gaussian::below(wide bound) {
  const auto last = bound - 1;
  const auto high = static_cast<std::uint64_t>(last >> 64U);
  if (high == 0) {
    const auto low = static_cast<std::uint64_t>(last);
    if (low == 0) return 0;
    const auto mask = UINT64_MAX >> std::countl_zero(low);
    for (;;)
      if (const auto draw = word() & mask; draw <= low) return draw;
  }
  const auto mask = UINT64_MAX >> std::countl_zero(high);
  for (;;)
    if (const auto draw = static_cast<wide>(word() & mask) << 64U | word(); draw <= last) return draw;
}

bool discrete_gaussian::with_probability(wide numerator, wide denominator) { return below(denominator) < numerator; }

/// Algorithm 1, with probability exp(-numerator / denominator) for at most 1.
bool discrete_gaussian::with_exponential_below_one(wide numerator, wide denominator) {
  std::uint32_t k = 1;
  while (with_probability(numerator, denominator * k)) ++k;
  return k % 2 == 1;
}

bool discrete_gaussian::with_exponential(wide numerator, wide denominator) {
  for (; numerator > denominator; numerator -= denominator)
    if (!with_exponential_below_one(1, 1)) return false;
  return with_exponential_below_one(numerator, denominator);
}

/// Algorithm 2: P[Y = y] is proportional to exp(-|y| / scale).
std::int64_t discrete_gaussian::laplace() {
  for (;;) {
    const auto rest = below(scale_);
    if (!with_exponential_below_one(rest, scale_)) continue;
    std::uint64_t whole = 0;
    while (with_exponential_below_one(1, 1)) ++whole;
    const auto size = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) + scale_ * whole);
    const bool negative = below(2) == 1;
    if (negative && size == 0) continue;
    return negative ? -size : size;
  }
}

/// Algorithm 3.
std::int64_t discrete_gaussian::operator()() {
  for (;;) {
    const auto proposed = laplace();
    const auto product = static_cast<wide>(static_cast<std::uint64_t>(std::abs(proposed))) * scale_;
    const auto distance = product > variance_ ? product - variance_ : variance_ - product;
    // Its square does not fit: of probability below exp(-2^11), and then accepted with one below exp(-2^20).
    if (distance >> 63U != 0) continue;
    if (with_exponential(distance * distance, static_cast<wide>(2) * variance_ * scale_ * scale_)) return proposed;
  }
}

lattice_noise lattice_noise::of_deviation(double deviation) {
  constexpr int most_bits = 24;
  if (!(deviation > 0.0) || !(deviation <= most_deviation))
    throw std::invalid_argument("noise on words has a deviation of up to 2^59 units");
  int exponent = 0;
  static_cast<void>(std::frexp(deviation, &exponent));  // deviation < 2^exponent
  lattice_noise made;
  made.shift = static_cast<unsigned>(std::max(0, exponent - most_bits));
  const double steps = std::ldexp(deviation, -static_cast<int>(made.shift));
  made.variance = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(steps * steps)));
  return made;
}

void round_to_lattice(std::span<std::int64_t> words, const lattice_noise& noise) {
  if (noise.shift == 0) return;
  const auto half = std::uint64_t{1} << (noise.shift - 1);
  const auto mask = ~((std::uint64_t{1} << noise.shift) - 1);
  for (auto& word : words) word = static_cast<std::int64_t>((static_cast<std::uint64_t>(word) + half) & mask);
}

void add_lattice_noise(std::span<std::int64_t> words, const lattice_noise& noise, int sign, word_source& from) {
  discrete_gaussian draw(noise.variance, from);
  for (auto& word : words) {
    const auto drawn = static_cast<std::uint64_t>(sign < 0 ? -draw() : draw());
    word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) + (drawn << noise.shift));
  }
}

}  // namespace furlong::federated::privacy
