#include "federated/aggregation/robust/cohort.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernels/kernels.hpp"

namespace furlong::federated::robust {

namespace {

/// Values of a row that are read at a time: those of a hundred rows fit into a processor's cache.
constexpr std::size_t product_block = 2048;
constexpr std::size_t value_block = 256;

/// The comparisons that sort n values, in order: Batcher's odd-even merge sort (1968; Knuth, volume 3, 5.3.4). They do
/// not depend on the values, so many columns are sorted at once, by vector instructions.
std::vector<std::pair<std::size_t, std::size_t>> sorting_network(std::size_t n) {
  std::vector<std::pair<std::size_t, std::size_t>> comparisons;
  for (std::size_t merged = 1; merged < n; merged *= 2)
    for (std::size_t apart = merged; apart > 0; apart /= 2)
      for (std::size_t first = apart % merged; first + apart < n; first += 2 * apart)
        for (std::size_t i = first; i < std::min(first + apart, n - apart); ++i)
          if (i / (2 * merged) == (i + apart) / (2 * merged)) comparisons.emplace_back(i, i + apart);
  return comparisons;
}

void sort_two(double* __restrict low, double* __restrict high, std::size_t count) {
  for (std::size_t p = 0; p < count; ++p) {
    const double smaller = low[p] < high[p] ? low[p] : high[p];
    high[p] = low[p] < high[p] ? high[p] : low[p];
    low[p] = smaller;
  }
}

}  // namespace

cohort::cohort(std::vector<std::span<const float>> updates)
    : updates_(std::move(updates)), scales_(updates_.size(), 1.0) {}

/// Of x, block by block, then of y.
void cohort::need_products() const {
  if (!products_.empty()) return;
  const std::size_t n = count();
  products_.assign(n * n, 0.0);
  const auto& dot = models::kernels().dot;
  for (std::size_t begin = 0; begin < size(); begin += product_block) {
    const auto length = std::min(product_block, size() - begin);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        products_[i * n + j] += dot(updates_[i].data() + begin, updates_[j].data() + begin, length);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      products_[i * n + j] = products_[j * n + i] = products_[i * n + j] * scales_[i] * scales_[j];
  if (shares_.empty()) return;
  const auto multiply = [n](auto left, auto right) {  // n x n, by functions of row and column
    std::vector<double> made(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) made[i * n + j] += left(i, k) * right(k, j);
    return made;
  };
  const auto share = [&](std::size_t i, std::size_t j) { return shares_[i * n + j]; };
  const auto mixed = multiply(share, [&](std::size_t i, std::size_t j) { return products_[i * n + j]; });
  products_ = multiply([&](std::size_t i, std::size_t j) { return mixed[i * n + j]; },
                       [&](std::size_t i, std::size_t j) { return share(j, i); });
}

double cohort::product(std::size_t i, std::size_t j) const {
  need_products();
  return products_[std::max(i, j) * count() + std::min(i, j)];
}

double cohort::norm(std::size_t i) const {
  if (!products_.empty() || !shares_.empty()) return std::sqrt(std::max(0.0, product(i, i)));
  double squared = 0.0;
  for (std::size_t begin = 0; begin < size(); begin += product_block) {
    const auto* const values = updates_[i].data() + begin;
    squared += models::kernels().dot(values, values, std::min(product_block, size() - begin));
  }
  return std::sqrt(squared * scales_[i] * scales_[i]);
}

double cohort::squared_distance(std::size_t i, std::size_t j) const {
  return i == j ? 0.0 : std::max(0.0, product(i, i) + product(j, j) - 2.0 * product(i, j));
}

void cohort::scale(std::span<const double> factors) {
  const std::size_t n = count();
  for (std::size_t i = 0; i < n; ++i) {
    if (shares_.empty())
      scales_[i] *= factors[i];
    else
      for (std::size_t j = 0; j < n; ++j) shares_[i * n + j] *= factors[i];
    for (std::size_t j = 0; !products_.empty() && j < n; ++j) {
      products_[i * n + j] *= factors[i];
      products_[j * n + i] *= factors[i];
    }
  }
}

void cohort::mix(std::span<const double> shares) {
  const std::size_t n = count();
  products_.clear();
  if (shares_.empty()) {
    shares_.assign(shares.begin(), shares.end());
    return;
  }
  std::vector<double> made(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) made[i * n + j] += shares[i * n + k] * shares_[k * n + j];
  shares_ = std::move(made);
}

std::vector<double> cohort::weighted_sum(std::span<const double> weights) const {
  const std::size_t n = count();
  std::vector<double> sum(size(), 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    double weight = shares_.empty() ? weights[j] : 0.0;
    for (std::size_t i = 0; !shares_.empty() && i < n; ++i) weight += weights[i] * shares_[i * n + j];
    weight *= scales_[j];
    if (weight == 0.0) continue;
    for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += weight * static_cast<double>(updates_[j][p]);
  }
  return sum;
}

void cohort::each_position(std::span<const std::size_t> chosen,
                           function_ref<void(std::size_t, std::span<const double>)> visit) const {
  const std::size_t n = count();
  const bool mixes = !shares_.empty();
  const auto stride = std::min(value_block, size()) + 8;  // no power of two: a column would be in few sets of a cache
  std::vector<double> scaled(mixes ? n * stride : 0);
  std::vector<double> block(chosen.size() * stride);
  std::vector<double> values(chosen.size());
  const auto sorted_by = sorting_network(chosen.size());
  for (std::size_t begin = 0; begin < size(); begin += value_block) {
    const auto length = std::min(value_block, size() - begin);
    const auto load = [&](std::size_t row, double* to_values) {
      for (std::size_t p = 0; p < length; ++p)
        to_values[p] = scales_[row] * static_cast<double>(updates_[row][begin + p]);
    };
    for (std::size_t i = 0; mixes && i < n; ++i) load(i, scaled.data() + i * stride);
    for (std::size_t r = 0; r < chosen.size(); ++r) {
      auto* const row = block.data() + r * stride;
      if (!mixes) {
        load(chosen[r], row);
        continue;
      }
      std::fill_n(row, length, 0.0);
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t p = 0; p < length; ++p) row[p] += shares_[chosen[r] * n + j] * scaled[j * stride + p];
    }
    for (const auto& [low, high] : sorted_by)
      sort_two(block.data() + low * stride, block.data() + high * stride, length);
    for (std::size_t p = 0; p < length; ++p) {
      for (std::size_t r = 0; r < chosen.size(); ++r) values[r] = block[r * stride + p];
      visit(begin + p, values);
    }
  }
}

}  // namespace furlong::federated::robust
