#include "federated/aggregation/robust/before.hpp"

#include <algorithm>
#include <numeric>

namespace furlong::federated::robust {

namespace {

std::vector<double> norms_of(const cohort& rows) {
  std::vector<double> norms(rows.count());
  for (std::size_t i = 0; i < norms.size(); ++i) norms[i] = rows.norm(i);
  return norms;
}

void shorten(cohort& rows, const std::vector<double>& norms, double longest) {
  std::vector<double> factors(norms.size(), 1.0);
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (norms[i] > longest) factors[i] = longest / norms[i];
  rows.scale(factors);
}

void clip(cohort& rows, std::size_t /*bad*/, const option_values& options) {
  shorten(rows, norms_of(rows), options.number("clip"));
}

/// Adaptive robust clipping (Allouah et al., "Adaptive gradient clipping for robust federated learning", 2024): the k
/// longest updates are clipped to the longest of the others.
void arc(cohort& rows, std::size_t bad, const option_values& /*options*/) {
  const std::size_t n = rows.count();
  const auto clipped = arc_clipped(n, bad);
  if (clipped == 0) return;
  const auto norms = norms_of(rows);
  auto sorted = norms;
  std::ranges::sort(sorted);
  shorten(rows, norms, sorted[n - clipped - 1]);
}

/// Nearest-neighbour mixing (Allouah et al., "Fixing by mixing", 2023): each update becomes the mean of the n - f that
/// are nearest to it, itself among them.
void nnm(cohort& rows, std::size_t bad, const option_values& /*options*/) {
  const std::size_t n = rows.count();
  const std::size_t mixed = n - bad;
  std::vector<double> shares(n * n, 0.0);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t j) { return rows.squared_distance(i, j); });
    for (std::size_t j = 0; j < mixed; ++j) shares[i * n + order[j]] = 1.0 / static_cast<double>(mixed);
  }
  rows.mix(shares);
}

}  // namespace

const std::vector<before_step>& before_steps() {
  static const std::vector<before_step> steps = {{"clip", clip}, {"arc", arc}, {"nnm", nnm}};
  return steps;
}

const before_step* find_before_step(std::string_view kind) {
  const auto found = std::ranges::find(before_steps(), kind, &before_step::kind);
  return found == before_steps().end() ? nullptr : &*found;
}

std::size_t arc_clipped(std::size_t count, std::size_t bad) { return 2 * bad * (count - bad) / count; }

}  // namespace furlong::federated::robust
