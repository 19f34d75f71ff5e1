// Cross-entropy over many classes (see kernels.hpp). A row is read three times and stays in the cache: bias and
// maximum, exponentials and their sum, gradient.
#include <limits>

#include "base/exact_math.hpp"
#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"

namespace furlong::models::FURLONG_LEVEL {

namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();

/// logits += bias; returns the largest.
float add_bias(float* logits, const float* bias, std::size_t n) {
  pack most = filled(lowest);
  const std::size_t whole_lanes = n / lanes * lanes;
  for (std::size_t i = 0; i < whole_lanes; i += lanes) {
    pack value = load(logits + i);
    if (bias != nullptr) {
      value = add(value, load(bias + i));
      store(logits + i, value);
    }
    most = larger(most, value);
  }
  float largest = Eigen::internal::predux_max(most);
  for (std::size_t i = whole_lanes; i < n; ++i) {
    if (bias != nullptr) logits[i] += bias[i];
    largest = logits[i] > largest ? logits[i] : largest;
  }
  return largest;
}

/// logits = exp(logits - shift); returns their sum.
float exponentiate(float* logits, float shift, std::size_t n) {
  const pack down = filled(shift);
  pack sum = filled(0.0F);
  const std::size_t whole_lanes = n / lanes * lanes;
  for (std::size_t i = 0; i < whole_lanes; i += lanes) {
    const pack value = exponential(subtract(load(logits + i), down));
    store(logits + i, value);
    sum = add(sum, value);
  }
  if (whole_lanes < n) {
    const part rest{n - whole_lanes};
    rest.write(logits + whole_lanes, exponential(subtract(rest.read(logits + whole_lanes), down)));
  }
  float total = Eigen::internal::predux(sum);
  for (std::size_t i = whole_lanes; i < n; ++i) total += logits[i];
  return total;
}

}  // namespace

double softmax_gradient(const softmax_rows& input, float scale, float* bias_gradient) {
  double loss = 0.0;
  for (std::size_t row = 0; row < input.rows; ++row) {
    float* logits = input.logits + row * input.stride;
    const float largest = add_bias(logits, input.bias, input.classes);
    const float of_target = logits[input.targets[row]] - largest;
    const float total = exponentiate(logits, largest, input.classes);
    loss += exact::log(static_cast<double>(total)) - static_cast<double>(of_target);

    logits[input.targets[row]] -= total;  // times scale / total below: the probability less 1
    const pack factor = filled(scale / total);
    each_pack(input.classes, [&](std::size_t i, const auto& access) {
      const pack value = times(access.read(logits + i), factor);
      access.write(logits + i, value);
      if (bias_gradient != nullptr) access.write(bias_gradient + i, add(access.read(bias_gradient + i), value));
    });
  }
  return loss;
}

double softmax_score(const softmax_rows& input, std::uint32_t* likeliest) {
  double loss = 0.0;
  for (std::size_t row = 0; row < input.rows; ++row) {
    float* logits = input.logits + row * input.stride;
    const float largest = add_bias(logits, input.bias, input.classes);
    const float of_target = logits[input.targets[row]] - largest;
    likeliest[row] = 0;
    while (likeliest[row] + 1 < input.classes && logits[likeliest[row]] != largest) ++likeliest[row];
    const float total = exponentiate(logits, largest, input.classes);
    loss += exact::log(static_cast<double>(total)) - static_cast<double>(of_target);
  }
  return loss;
}

}  // namespace furlong::models::FURLONG_LEVEL
