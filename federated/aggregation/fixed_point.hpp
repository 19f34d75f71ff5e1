// Exact sums of floats: a value v of weight w is the integer round(v w 2^k). Integers are added in any order, anywhere,
// with the same bits; k is chosen such that no sum can overflow.
#pragma once

#include <cstdint>
#include <span>

namespace furlong::federated {

/// The grid of sums of values up to a bound. Immutable and thread-safe; the caller owns the words.
class fixed_point {
 public:
  /// As fine as fits: one addend is below 2^50, which kernels round exactly, and a sum below 2^62. The rounding error
  /// of an addend is at most half a unit.
  /// @param most largest absolute value; > 0
  /// @param most_weight largest factor of one addend; >= 1
  /// @param addends most addends of one word; >= 1
  fixed_point(double most, double most_weight, double addends);

  /// How many units are 1: 2^k.
  [[nodiscard]] double units_in_one() const { return units_; }
  /// words[i] += round(values[i] * weight * units), the same on every processor: `weight`, at most most_weight, is
  /// rounded to 24 bits. As many words as values.
  void add(std::span<const float> values, double weight, std::span<std::int64_t> words) const;
  /// values[i] = words[i] / (units * divisor), 0 where `divisor` is 0; clears the words.
  void drain(std::span<std::int64_t> words, double divisor, std::span<float> values) const;

 private:
  double units_ = 1.0;
};

}  // namespace furlong::federated
