// The discrete Gaussian, drawn exactly: with integers alone, so that no rounding error of floating-point numbers can
// reveal what the noise should hide (Mironov 2012, "On significance of the least significant bits for differential
// privacy").
//
// P[X = x] is proportional to exp(-x^2 / (2 variance)) on the integers (Canonne, Kamath, Steinke 2020, "The discrete
// Gaussian for differential privacy"; algorithms 1 to 3). In time it is not constant: who can measure that learns of
// the noise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/secret_stream.hpp"

namespace furlong::federated::privacy {

/// Draws from a source of words. Not thread-safe.
class discrete_gaussian {
 public:
  static constexpr std::uint64_t most_variance = std::uint64_t{1} << 52U;

  /// 0 < variance <= most_variance, else throws std::invalid_argument. The source must outlive it.
  discrete_gaussian(std::uint64_t variance, word_source& from);

  [[nodiscard]] std::int64_t operator()();

 private:
  __extension__ typedef unsigned __int128 wide;  // NOLINT(modernize-use-using)

  [[nodiscard]] std::uint64_t word();
  [[nodiscard]] wide below(wide bound);
  [[nodiscard]] bool with_probability(wide numerator, wide denominator);
  [[nodiscard]] bool with_exponential_below_one(wide numerator, wide denominator);
  [[nodiscard]] bool with_exponential(wide numerator, wide denominator);
  [[nodiscard]] std::int64_t laplace();

  word_source& from_;
  std::uint64_t variance_;
  std::uint64_t scale_;  ///< t of algorithm 3: of the Laplace variable that is proposed
  std::array<std::uint64_t, 64> words_{};
  std::size_t used_ = 64;
};

/// Noise for words of a sum: multiples of 2^shift, whose deviation is sqrt(variance) 2^shift.
struct lattice_noise {
  unsigned shift = 0;
  std::uint64_t variance = 1;

  /// Eight deviations, and the sums that rules allow, fit a word.
  static constexpr double most_deviation = 0x1p59;
  /// Noise of this deviation, in units of the words, in less than 2^24 steps of 2^shift; the variance in steps is
  /// rounded up. Throws std::invalid_argument unless 0 < deviation <= most_deviation.
  [[nodiscard]] static lattice_noise of_deviation(double deviation);
};

/// Rounds each word to a multiple of 2^shift, the nearest one.
void round_to_lattice(std::span<std::int64_t> words, const lattice_noise& noise);
/// Adds `sign` times a draw to each word, modulo 2^64.
void add_lattice_noise(std::span<std::int64_t> words, const lattice_noise& noise, int sign, word_source& from);

}  // namespace furlong::federated::privacy
