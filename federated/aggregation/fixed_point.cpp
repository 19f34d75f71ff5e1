#include "federated/aggregation/fixed_point.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

fixed_point::fixed_point(double most, double most_weight, double addends) {
  const int weight_bits = exact::ceil_log2(most_weight);
  const int room = std::min(50 - weight_bits, 62 - weight_bits - exact::ceil_log2(addends));
  units_ = std::ldexp(1.0, room - exact::ceil_log2(most));
}

void fixed_point::add(std::span<const float> values, double weight, std::span<std::int64_t> words) const {
  // Rounded to 24 bits: the products are exact, and the sums are the same for all kernels.
  const double scale = static_cast<float>(weight) * units_;
  models::kernels().fold_fixed(words.data(), values.data(), values.size(), scale);
}

void fixed_point::drain(std::span<std::int64_t> words, double divisor, std::span<float> values) const {
  models::kernels().drain_fixed(values.data(), words.data(), values.size(),
                                divisor > 0 ? 1.0 / (units_ * divisor) : 0.0);
}

}  // namespace furlong::federated
