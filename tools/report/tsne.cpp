#include "tools/report/detail/tsne.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "models/kernels/kernels.hpp"

namespace furlong::tools {

namespace {

constexpr double most_perplexity = 30.0;
constexpr int steps = 750;
constexpr int exaggerated_steps = 250;
constexpr double exaggeration = 12.0;

/// Squared Euclidean distances, n x n.
std::vector<float> squared_distances(const vectors& of) {
  const std::size_t n = of.count();
  std::vector<float> all(n * n, 0.0F);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < of.width; ++k) {
        const double miss = static_cast<double>(of[i][k]) - static_cast<double>(of[j][k]);
        sum += miss * miss;
      }
      all[i * n + j] = all[j * n + i] = static_cast<float>(sum);
    }
  return all;
}

/// Turns a row of squared distances into p(j|i): a Gaussian whose width is searched so that the row's perplexity is the
/// one wanted (section 2).
void to_conditional(std::span<float> row, std::size_t self, double perplexity) {
  constexpr int halvings = 60;
  const double wanted = std::log(perplexity);
  float nearest = INFINITY;
  for (std::size_t j = 0; j < row.size(); ++j)
    if (j != self) nearest = std::min(nearest, row[j]);
  const auto weight = [&](std::size_t j, double beta) {
    return j == self ? 0.0 : std::exp(-beta * static_cast<double>(row[j] - nearest));
  };
  double low = 0.0;
  double high = INFINITY;
  double beta = 1.0;
  double sum = 1.0;
  for (int i = 0; i < halvings; ++i) {
    sum = 0.0;
    double moment = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double w = weight(j, beta);
      sum += w;
      moment += w * static_cast<double>(row[j] - nearest);
    }
    const double entropy = std::log(sum) + beta * moment / sum;
    if (std::abs(entropy - wanted) < 1e-5) break;
    (entropy > wanted ? low : high) = beta;
    beta = std::isinf(high) ? 2.0 * beta : 0.5 * (low + high);
  }
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double w = weight(j, beta);
    row[j] = static_cast<float>(w / sum);
  }
}

/// Symmetric joint probabilities (section 3.1), n x n.
std::vector<float> joint_probabilities(const vectors& of) {
  const std::size_t n = of.count();
  auto p = squared_distances(of);
  const double perplexity = std::clamp(static_cast<double>(n - 1) / 3.0, 1.0, most_perplexity);
  for (std::size_t i = 0; i < n; ++i) to_conditional(std::span(p).subspan(i * n, n), i, perplexity);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j)
      p[i * n + j] = p[j * n + i] = (p[i * n + j] + p[j * n + i]) / (2.0F * static_cast<float>(n));
  return p;
}

/// Coordinates of all points: structure of arrays, for the inner loop.
struct plane {
  std::vector<float> x, y;
};

/// 1 / (1 + |y_i - y_j|^2) for all j.
void nearness(const plane& at, std::size_t i, std::vector<float>& row) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    const float dx = at.x[i] - at.x[j];
    const float dy = at.y[i] - at.y[j];
    row[j] = 1.0F / (1.0F + dx * dx + dy * dy);
  }
}

/// 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2) (eq. 5), with p multiplied by `more`.
void gradient(std::span<const float> p, const plane& at, float more, plane& out) {
  const std::size_t n = at.x.size();
  const auto dot = [n](const std::vector<float>& a, const std::vector<float>& b) {
    return models::kernels().dot(a.data(), b.data(), n);
  };
  const std::vector<float> ones(n, 1.0F);
  std::vector<float> near(n);
  double total = 0.0;  // which normalises q; without the points themselves
  for (std::size_t i = 0; i < n; ++i) {
    nearness(at, i, near);
    total += dot(near, ones) - 1.0;
  }
  const auto norm = static_cast<float>(1.0 / total);
  auto& pull = near;
  for (std::size_t i = 0; i < n; ++i) {
    nearness(at, i, near);
    const auto row = p.subspan(i * n, n);
    for (std::size_t j = 0; j < n; ++j) pull[j] = (more * row[j] - near[j] * norm) * near[j];
    const double sum = dot(pull, ones);
    out.x[i] = static_cast<float>(4.0 * (static_cast<double>(at.x[i]) * sum - dot(pull, at.x)));
    out.y[i] = static_cast<float>(4.0 * (static_cast<double>(at.y[i]) * sum - dot(pull, at.y)));
  }
}

/// One coordinate's step, with a rate that grows while the direction stays (Jacobs 1988).
void step(std::vector<float>& at, std::vector<float>& speed, std::vector<float>& gain, const std::vector<float>& slope,
          float momentum, float rate) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    const bool stays = (slope[i] > 0.0F) != (speed[i] > 0.0F);
    gain[i] = std::max(stays ? gain[i] + 0.2F : gain[i] * 0.8F, 0.01F);
    speed[i] = momentum * speed[i] - rate * gain[i] * slope[i];
    at[i] += speed[i];
  }
  const float mean = std::accumulate(at.begin(), at.end(), 0.0F) / static_cast<float>(at.size());
  for (auto& value : at) value -= mean;
}

plane spiral(std::size_t n) {
  constexpr double golden_angle = 2.399963229728653;
  plane made;
  for (std::size_t i = 0; i < n; ++i) {
    const double radius = 1e-4 * std::sqrt(static_cast<double>(i + 1) / static_cast<double>(n));
    const double angle = golden_angle * static_cast<double>(i);
    made.x.push_back(static_cast<float>(radius * std::cos(angle)));
    made.y.push_back(static_cast<float>(radius * std::sin(angle)));
  }
  return made;
}

/// The numbers of the k nearest to each, ascending.
std::vector<std::vector<std::size_t>> nearest_neighbours(const vectors& of, std::size_t k) {
  const std::size_t n = of.count();
  const auto distances = squared_distances(of);
  std::vector<std::vector<std::size_t>> all;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < n; ++i) {
    others.clear();
    for (std::size_t j = 0; j < n; ++j)
      if (j != i) others.push_back(j);
    const auto end = others.begin() + static_cast<std::ptrdiff_t>(k);
    std::partial_sort(others.begin(), end, others.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(distances[i * n + a], a) < std::pair(distances[i * n + b], b);
    });
    std::sort(others.begin(), end);
    all.emplace_back(others.begin(), end);
  }
  return all;
}

}  // namespace

std::vector<point> tsne(const vectors& of) {
  const std::size_t n = of.count();
  auto at = spiral(n);
  if (n > 3) {
    const auto p = joint_probabilities(of);
    plane slope{std::vector<float>(n), std::vector<float>(n)};
    plane speed{std::vector<float>(n, 0.0F), std::vector<float>(n, 0.0F)};
    plane gain{std::vector<float>(n, 1.0F), std::vector<float>(n, 1.0F)};
    const float rate = std::max(static_cast<float>(static_cast<double>(n) / exaggeration / 4.0), 50.0F);
    for (int i = 0; i < steps; ++i) {
      const bool early = i < exaggerated_steps;
      gradient(p, at, early ? static_cast<float>(exaggeration) : 1.0F, slope);
      const float momentum = early ? 0.5F : 0.8F;
      step(at.x, speed.x, gain.x, slope.x, momentum, rate);
      step(at.y, speed.y, gain.y, slope.y, momentum, rate);
    }
  }
  std::vector<point> points;
  for (std::size_t i = 0; i < n; ++i) points.push_back({static_cast<double>(at.x[i]), static_cast<double>(at.y[i])});
  return points;
}

double neighbourhood_overlap(const vectors& a, const vectors& b, std::size_t k) {
  const auto in_a = nearest_neighbours(a, k);
  const auto in_b = nearest_neighbours(b, k);
  std::size_t common = 0;
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    std::vector<std::size_t> both;
    std::set_intersection(in_a[i].begin(), in_a[i].end(), in_b[i].begin(), in_b[i].end(), std::back_inserter(both));
    common += both.size();
  }
  return static_cast<double>(common) / static_cast<double>(k * in_a.size());
}

}  // namespace furlong::tools
