// Min-max (Shejwalkar, Houmansadr: "Manipulating the Byzantine", 2021): m - gamma p with the largest gamma whose
// distance to every known update is at most the largest distance between two of them; p = s, sign(m) or m / |m|.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "federated/attack/crafted_update.hpp"
#include "federated/attack/kinds.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

using vector = std::vector<double>;

double squared(const vector& values) { return std::inner_product(values.begin(), values.end(), values.begin(), 0.0); }

vector direction_of(const attack_settings& settings, const known_updates& known, const vector& mean) {
  const auto& word = settings.options.text("direction");
  if (word == "deviation") return deviation_of(known, mean, 0);
  if (word == "mean") return moved(vector(mean.size(), 0.0), 1.0 / std::max(std::sqrt(squared(mean)), 1e-300), mean);
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
vector shift(const attack_settings& settings, const known_updates& known,
             function_ref<double(std::span<const double>)> /*harm*/) {
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

attack_entry min_max_attack() {
  return {.kind = "min-max",
          .doc = "as far from the mean of the known updates as these are from each other",
          .options = {knows_option(),
                      choice_option("direction", "deviation",
                                    "min-max: the direction away from the mean of known updates: their standard "
                                    "deviation, the signs of the mean, or the mean.",
                                    {"deviation", "sign", "mean"})},
          .craft = shift};
}

}  // namespace furlong::federated
