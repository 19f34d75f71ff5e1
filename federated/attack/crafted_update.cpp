#include "federated/attack/crafted_update.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/exact_math.hpp"

namespace furlong::federated {

namespace {

using vector = std::vector<double>;

vector mean_of(const known_updates& known) {
  vector mean(known.rows.front().size(), 0.0);
  for (const auto row : known.rows)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(row[i]);
  for (auto& value : mean) value /= static_cast<double>(known.rows.size());
  return mean;
}

/// @param freedom the divisor is that much less than the number of updates
vector deviation_of(const known_updates& known, const vector& mean, std::size_t freedom) {
  vector deviation(mean.size(), 0.0);
  if (known.rows.size() <= freedom) return deviation;
  for (const auto row : known.rows)
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double difference = static_cast<double>(row[i]) - mean[i];
      deviation[i] += difference * difference;
    }
  for (auto& value : deviation) value = std::sqrt(value / static_cast<double>(known.rows.size() - freedom));
  return deviation;
}

double squared(const vector& values) { return std::inner_product(values.begin(), values.end(), values.begin(), 0.0); }

/// start + factor direction
vector moved(const vector& start, double factor, const vector& direction) {
  vector made(start.size());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = start[i] + factor * direction[i];
  return made;
}

vector direction_of(const attack_settings& settings, const known_updates& known, const vector& mean) {
  switch (settings.direction) {
    case attack_direction::deviation: return deviation_of(known, mean, 0);
    case attack_direction::sign: break;
    case attack_direction::mean:
      return moved(vector(mean.size(), 0.0), 1.0 / std::max(std::sqrt(squared(mean)), 1e-300), mean);
  }
  vector signs(mean.size());
  std::ranges::transform(mean, signs.begin(), [](double value) {
    return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : 0.0;
  });
  return signs;
}

/// The largest squared distance between two known updates.
double widest(const known_updates& known) {
  double most = 0.0;
  for (std::size_t i = 0; i < known.rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double distance = 0.0;
      for (std::size_t k = 0; k < known.rows[i].size(); ++k) {
        const double difference = static_cast<double>(known.rows[i][k]) - static_cast<double>(known.rows[j][k]);
        distance += difference * difference;
      }
      most = std::max(most, distance);
    }
  return most;
}

/// |m - gamma p - x|^2 = a - 2 gamma b + gamma^2 c for each known x: the least of the largest gammas.
vector min_max(const attack_settings& settings, const known_updates& known) {
  const auto mean = mean_of(known);
  const auto direction = direction_of(settings, known, mean);
  const double most = widest(known);
  const double length = squared(direction);
  if (length == 0.0) return mean;
  double factor = std::numeric_limits<double>::max();
  for (const auto row : known.rows) {
    double apart = 0.0;
    double along = 0.0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double difference = mean[i] - static_cast<double>(row[i]);
      apart += difference * difference;
      along += difference * direction[i];
    }
    const double root = std::sqrt(std::max(0.0, along * along + length * (most - apart)));
    factor = std::min(factor, (along + root) / length);
  }
  return moved(mean, -factor, direction);
}

}  // namespace

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

std::vector<double> craft_update(const attack_settings& settings, const known_updates& known,
                                 function_ref<double(std::span<const double>)> harm) {
  if (settings.kind == attack_kind::mimic) return {known.rows.front().begin(), known.rows.front().end()};
  if (settings.kind == attack_kind::min_max) return min_max(settings, known);
  const bool reversed = settings.kind == attack_kind::ipm || settings.kind == attack_kind::opt_ipm;
  const auto mean = mean_of(known);
  const auto direction = reversed ? mean : deviation_of(known, mean, 1);
  const auto made = [&](double factor) {
    return moved(reversed ? vector(mean.size(), 0.0) : mean, reversed ? -factor : factor, direction);
  };
  constexpr double ipm_factor = 2.0;
  if (settings.kind == attack_kind::ipm) return made(settings.strength.value_or(ipm_factor));
  if (settings.kind == attack_kind::alie)
    return made(settings.strength.value_or(alie_factor(known.bad + known.honest, known.bad)));
  const auto harm_of = [&](double factor) { return harm(made(factor)); };
  double best = search_factor(harm_of);
  double most = harm_of(best);
  // The search climbs one hill from 0; harm behind a valley is found by these.
  for (const double factor : {0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0})
    if (const double found = harm_of(factor); found > most) {
      most = found;
      best = factor;
    }
  return made(best);
}

}  // namespace furlong::federated
