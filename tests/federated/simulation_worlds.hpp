// Simulated worlds for tests: clients of any number without data, and statistics.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/world/availability_trace.hpp"
#include "federated/world/world.hpp"

namespace furlong::tests {

/// Clients with `examples` train examples each, that nobody loads, and a normal taste.
class counted_population final : public federated::population {
 public:
  std::uint32_t examples = 20;

  [[nodiscard]] models::data_facts facts() const override { return {}; }
  [[nodiscard]] std::span<const std::uint32_t> training() const override { return {}; }
  [[nodiscard]] std::span<const std::uint32_t> unseen_validation() const override { return {}; }
  [[nodiscard]] std::span<const std::uint32_t> unseen_test() const override { return {}; }
  [[nodiscard]] models::examples_view load(std::uint32_t, federated::part, models::examples&) const override {
    return {};
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t, federated::part) const override { return examples; }
  [[nodiscard]] double taste(std::uint32_t client) const override {
    return static_cast<double>(random_stream(77, purpose::test, 5, client).normal());
  }
  [[nodiscard]] std::string client_name(std::uint32_t) const override { return {}; }
  [[nodiscard]] std::string feature_name(std::uint32_t) const override { return {}; }
};

constexpr federated::virtual_time second = federated::microseconds_per_second;
constexpr federated::virtual_time hour = 3600 * second;

/// Sums of pairs: their means, deviations and correlation.
struct moments {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

  void add(double a, double b = 0.0) { n += 1, x += a, y += b, xx += a * a, yy += b * b, xy += a * b; }
  [[nodiscard]] double mean() const { return x / n; }
  [[nodiscard]] double variance() const { return xx / n - mean() * mean(); }
  [[nodiscard]] double deviation() const { return std::sqrt(variance()); }
  [[nodiscard]] double covariance() const { return xy / n - x / n * (y / n); }
  [[nodiscard]] double correlation() const { return covariance() / (deviation() * std::sqrt(yy / n - y / n * y / n)); }
};

/// Whether a share seen in n independent trials is within five standard errors of what it ought to be.
[[nodiscard]] inline bool share_fits(double seen, double expected, double n) {
  return std::abs(seen - expected) <= 5.0 * std::sqrt(expected * (1.0 - expected) / n) + 1e-12;
}

/// A trace of `devices` with drawn intervals: the first device's meet across the end, the second's touch both ends
/// alone, the third has none.
[[nodiscard]] inline std::shared_ptr<const federated::availability_trace> draw_trace(std::uint32_t devices) {
  auto made = std::make_shared<federated::availability_trace>();
  made->length = 30 * hour;
  made->offsets.push_back(0);
  for (std::uint32_t device = 0; device < devices; ++device) {
    random_stream stream(3, purpose::test, 6, device);
    federated::virtual_time at = device < 2 ? 0 : 1 + static_cast<federated::virtual_time>(stream.below(9'000'000));
    while (device != 2 && at < made->length) {
      auto end = at + 1 + federated::from_seconds(static_cast<double>(stream.uniform(0.0F, 7200.0F)));
      if (end > made->length || device == 1) end = made->length;
      if (device == 0 && end > made->length - 3 * hour) end = made->length;
      made->starts.push_back(at);
      made->ends.push_back(end);
      at = end + 1 + federated::from_seconds(static_cast<double>(stream.uniform(0.0F, 7200.0F)));
    }
    made->offsets.push_back(made->starts.size());
  }
  return made;
}

}  // namespace furlong::tests
