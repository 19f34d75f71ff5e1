#include "tools/report/detail/tsne.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <valarray>

#include "models/kernels/kernels.hpp"

namespace furlong::tools {

namespace {

constexpr double most_perplexity = 30.0;
constexpr int steps = 750;
constexpr int exaggerated_steps = 250;
constexpr float exaggeration = 12.0F;

using numbers = std::valarray<float>;

double dot(const numbers& a, const numbers& b) { return models::kernels().dot(&a[0], &b[0], a.size()); }

/// Squared Euclidean distances of all vectors from one.
std::vector<float> distances_from(const vectors& points, std::size_t i) {
  const auto square = [](double a, double b) { return (a - b) * (a - b); };
  std::vector<float> distances;
  for (std::size_t j = 0; j < points.count(); ++j)
    distances.push_back(static_cast<float>(
        std::inner_product(points[i].begin(), points[i].end(), points[j].begin(), 0.0, std::plus<>(), square)));
  return distances;
}

/// p(j|i) for all j: a Gaussian whose width is searched so that the perplexity is the one wanted (section 2).
numbers conditional_probabilities(std::vector<float> distances, std::size_t i, double perplexity) {
  constexpr int halvings = 60;
  const double wanted = std::log(perplexity);
  distances[i] = INFINITY;
  const float nearest = *std::ranges::min_element(distances);
  std::valarray<double> farther(distances.size());
  for (std::size_t j = 0; j < farther.size(); ++j) farther[j] = j == i ? 0.0 : distances[j] - nearest;
  std::valarray<double> weights;
  double sum = 0.0;
  double low = 0.0;
  double high = INFINITY;
  double beta = 1.0;
  for (int k = 0; k < halvings; ++k) {
    weights = std::exp(-beta * farther);
    weights[i] = 0.0;
    sum = weights.sum();
    const double moment = std::inner_product(begin(weights), end(weights), begin(farther), 0.0);
    const double entropy = std::log(sum) + beta * moment / sum;
    if (std::abs(entropy - wanted) < 1e-5) break;
    (entropy > wanted ? low : high) = beta;
    beta = std::isinf(high) ? 2.0 * beta : 0.5 * (low + high);
  }
  numbers p(weights.size());
  for (std::size_t j = 0; j < p.size(); ++j) p[j] = static_cast<float>(weights[j] / sum);
  return p;
}

/// Symmetric joint probabilities (section 3.1), by rows.
std::vector<numbers> joint_probabilities(const vectors& points) {
  const std::size_t n = points.count();
  const double perplexity = std::clamp(static_cast<double>(n - 1) / 3.0, 1.0, most_perplexity);
  std::vector<numbers> p;
  for (std::size_t i = 0; i < n; ++i) p.push_back(conditional_probabilities(distances_from(points, i), i, perplexity));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) p[i][j] = p[j][i] = (p[i][j] + p[j][i]) / (2.0F * static_cast<float>(n));
  return p;
}

/// One coordinate of all points, and how it moves.
struct coordinate {
  numbers values, slope, speed, gain;
};
using plane = std::array<coordinate, 2>;

plane spiral(std::size_t n) {
  constexpr double golden_angle = 2.399963229728653;
  const coordinate still{numbers(n), numbers(n), numbers(n), numbers(1.0F, n)};
  plane points{still, still};
  for (std::size_t i = 0; i < n; ++i) {
    const double radius = 1e-4 * std::sqrt(static_cast<double>(i + 1) / static_cast<double>(n));
    const double angle = golden_angle * static_cast<double>(i);
    points[0].values[i] = static_cast<float>(radius * std::cos(angle));
    points[1].values[i] = static_cast<float>(radius * std::sin(angle));
  }
  return points;
}

/// 1 / (1 + |y_i - y_j|^2) for all j.
numbers nearness(const plane& points, std::size_t i) {
  const numbers dx = points[0].values[i] - points[0].values;
  const numbers dy = points[1].values[i] - points[1].values;
  return 1.0F / (1.0F + dx * dx + dy * dy);
}

/// 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2) (eq. 5), with p multiplied by `more`.
void find_slopes(const std::vector<numbers>& p, float more, plane& points) {
  const numbers ones(1.0F, p.size());
  double total = 0.0;  // which normalises q; without the points themselves
  for (std::size_t i = 0; i < p.size(); ++i) total += dot(nearness(points, i), ones) - 1.0;
  const auto norm = static_cast<float>(1.0 / total);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto near = nearness(points, i);
    const numbers pull = (more * p[i] - near * norm) * near;
    const double sum = dot(pull, ones);
    for (auto& y : points) y.slope[i] = static_cast<float>(4.0 * (y.values[i] * sum - dot(pull, y.values)));
  }
}

/// One coordinate's step, with a rate that grows while the direction stays (Jacobs 1988).
void step(coordinate& y, float momentum, float rate) {
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const bool stays = (y.slope[i] > 0.0F) != (y.speed[i] > 0.0F);
    y.gain[i] = std::max(stays ? y.gain[i] + 0.2F : y.gain[i] * 0.8F, 0.01F);
    y.speed[i] = momentum * y.speed[i] - rate * y.gain[i] * y.slope[i];
  }
  y.values += y.speed;
  y.values -= y.values.sum() / static_cast<float>(y.values.size());
}

/// The numbers of the k nearest to one.
std::set<std::size_t> nearest_neighbours(const vectors& points, std::size_t i, std::size_t k) {
  const auto distances = distances_from(points, i);
  std::vector<std::pair<float, std::size_t>> neighbours;
  for (std::size_t j = 0; j < distances.size(); ++j)
    if (j != i) neighbours.emplace_back(distances[j], j);
  const auto end = neighbours.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(neighbours.begin(), end, neighbours.end());
  std::set<std::size_t> nearest;
  for (auto neighbour = neighbours.begin(); neighbour != end; ++neighbour) nearest.insert(neighbour->second);
  return nearest;
}

}  // namespace

std::vector<point> tsne(const vectors& input) {
  const std::size_t n = input.count();
  auto points = spiral(n);
  const auto p = n > 3 ? joint_probabilities(input) : std::vector<numbers>();
  const float rate = std::max(static_cast<float>(n) / exaggeration / 4.0F, 50.0F);
  for (int i = 0; n > 3 && i < steps; ++i) {
    const bool early = i < exaggerated_steps;
    find_slopes(p, early ? exaggeration : 1.0F, points);
    for (auto& y : points) step(y, early ? 0.5F : 0.8F, rate);
  }
  std::vector<point> places;
  for (std::size_t i = 0; i < n; ++i) places.push_back({points[0].values[i], points[1].values[i]});
  return places;
}

double neighbourhood_overlap(const vectors& a, const vectors& b, std::size_t k) {
  std::ptrdiff_t common = 0;
  for (std::size_t i = 0; i < a.count(); ++i) {
    const auto in_a = nearest_neighbours(a, i, k);
    const auto in_b = nearest_neighbours(b, i, k);
    common += std::ranges::count_if(in_a, [&](std::size_t j) { return in_b.contains(j); });
  }
  return static_cast<double>(common) / static_cast<double>(k * a.count());
}

}  // namespace furlong::tools
