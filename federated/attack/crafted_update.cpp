#include "federated/attack/crafted_update.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"

namespace furlong::federated {

std::vector<double> mean_of(const known_updates& known) {
  std::vector<double> mean(known.rows.front().size(), 0.0);
  for (const auto row : known.rows)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(row[i]);
  for (auto& value : mean) value /= static_cast<double>(known.rows.size());
  return mean;
}

std::vector<double> deviation_of(const known_updates& known, const std::vector<double>& mean, std::size_t freedom) {
  std::vector<double> deviation(mean.size(), 0.0);
  if (known.rows.size() <= freedom) return deviation;
  for (const auto row : known.rows)
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double difference = static_cast<double>(row[i]) - mean[i];
      deviation[i] += difference * difference;
    }
  for (auto& value : deviation) value = std::sqrt(value / static_cast<double>(known.rows.size() - freedom));
  return deviation;
}

std::vector<double> moved(const std::vector<double>& start, double factor, const std::vector<double>& direction) {
  std::vector<double> made(start.size());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = start[i] + factor * direction[i];
  return made;
}

double alie_factor(std::size_t count, std::size_t bad) {
  const auto honest = static_cast<double>(count - bad);
  const auto needed = static_cast<double>(count / 2 + 1) - static_cast<double>(bad);
  const double share = std::clamp((honest - needed) / honest, 0.5, 1.0 - 1e-9);
  double low = 0.0;
  double high = 8.0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2.0;
    (1.0 - exact::erfc(middle * std::sqrt(0.5)) / 2.0 < share ? low : high) = middle;
  }
  return low;
}

double search_factor(function_ref<double(double)> harm) {
  constexpr int evaluations = 20;
  constexpr double shrinkage = 0.8;
  constexpr double better = 1.0 + 1e-9;  // not by rounding alone
  double best = 0.0;
  double most = harm(best);
  double step = 10.0;
  double growth = 2.0;
  for (int evaluation = 1; evaluation < evaluations; ++evaluation) {
    if (const double found = harm(best + step); found > most * better) {
      most = found;
      best += step;
    } else {
      growth = shrinkage;
    }
    step *= growth;
  }
  return best;
}

double worst_factor(function_ref<double(double)> harm) {
  double best = search_factor(harm);
  double most = harm(best);
  // The search climbs one hill from 0; harm behind a valley is found by these.
  for (const double factor : {0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0})
    if (const double found = harm(factor); found > most) {
      most = found;
      best = factor;
    }
  return best;
}

}  // namespace furlong::federated
