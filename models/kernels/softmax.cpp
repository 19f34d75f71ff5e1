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
  pack most = all(lowest);
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
  const pack down = all(shift);
  pack sum = all(0.0F);
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

double softmax_gradient(const softmax_rows& what, float scale, float* bias_gradient) {
  double loss = 0.0;
  for (std::size_t row = 0; row < what.rows; ++row) {
    float* logits = what.logits + row * what.stride;
    const float largest = add_bias(logits, what.bias, what.classes);
    const float of_target = logits[what.targets[row]] - largest;
    const float total = exponentiate(logits, largest, what.classes);
    loss += exact::log(static_cast<double>(total)) - static_cast<double>(of_target);

    logits[what.targets[row]] -= total;  // times scale / total below: the probability less 1
    const pack factor = all(scale / total);
    each_pack(what.classes, [&](std::size_t i, const auto& at) {
      const pack value = times(at.read(logits + i), factor);
      at.write(logits + i, value);
      if (bias_gradient != nullptr) at.write(bias_gradient + i, add(at.read(bias_gradient + i), value));
    });
  }
  return loss;
}

double softmax_score(const softmax_rows& what, std::uint32_t* likeliest) {
  double loss = 0.0;
  for (std::size_t row = 0; row < what.rows; ++row) {
    float* logits = what.logits + row * what.stride;
    const float largest = add_bias(logits, what.bias, what.classes);
    const float of_target = logits[what.targets[row]] - largest;
    likeliest[row] = 0;
    while (likeliest[row] + 1 < what.classes && logits[likeliest[row]] != largest) ++likeliest[row];
    const float total = exponentiate(logits, largest, what.classes);
    loss += exact::log(static_cast<double>(total)) - static_cast<double>(of_target);
  }
  return loss;
}

}  // namespace furlong::models::FURLONG_LEVEL
