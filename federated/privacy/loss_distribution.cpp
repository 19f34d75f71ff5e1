#include "federated/privacy/loss_distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include "federated/privacy/detail/fourier.hpp"
#include "federated/privacy/gaussian.hpp"

namespace furlong::federated::privacy {

namespace {

constexpr double certain_loss = std::numeric_limits<double>::infinity();
/// Standard deviations beyond which a single release's losses are cut off: a mass of 1e-22.
constexpr double release_reach = 9.75;
/// Mass that composed losses may have outside of the window; counted as certain losses.
constexpr double outside_mass = 1e-16;

/// Masses at the losses width * (first + i), and of certain loss.
struct loss_grid {
  double width = 0.0;
  std::int64_t first = 0;
  std::vector<double> mass;
  double certain = 0.0;

  [[nodiscard]] double loss(std::size_t i) const {
    return width * static_cast<double>(first + static_cast<std::int64_t>(i));
  }
};

/// log((1 - rate) + rate exp(u))
double log_of_mixture(double rate, double u) {
  if (u > 1.0) return u + std::log1p((1.0 - rate) * std::expm1(-u));
  return std::log1p(rate * std::expm1(u));
}

/// The increasing function log(dP/dQ).
double loss_at(const loss_pair& of, double x) {
  const double half = 0.5 * of.mu * of.mu;
  return log_of_mixture(of.up, of.mu * x - half) - log_of_mixture(of.down, -of.mu * x - half);
}

/// log((exp(loss) - (1 - rate)) / rate), -infinity where there is none: the inverse of log_of_mixture().
double inverse_mixture(double rate, double loss) {
  if (loss > 1.0) return loss + std::log1p(-(1.0 - rate) * std::exp(-loss)) - std::log(rate);
  const double inside = std::expm1(loss) + rate;
  return inside > 0.0 ? std::log(inside / rate) : -certain_loss;
}

/// The inverse of loss_at(): infinite beyond its range.
double place_of_loss(const loss_pair& of, double loss) {
  const double half = 0.5 * of.mu * of.mu;
  if (of.down == 0.0) return (inverse_mixture(of.up, loss) + half) / of.mu;
  if (of.up == 0.0) return -(inverse_mixture(of.down, -loss) + half) / of.mu;
  // up = down: with u = mu x and a = exp(mu^2 / 2) (1 - up) / up, exp(loss) = (a + exp(u)) / (a + exp(-u)).
  if (of.up >= 1.0) return loss / (2 * of.mu);
  const double log_a = half + std::log1p(-of.up) - std::log(of.up);
  const double size = std::abs(loss) / 2;
  if (size == 0.0) return 0.0;
  // asinh(a sinh(size)) from the logarithm of its argument, which may not fit a number.
  const double log_argument = log_a + size + std::log(-0.5 * std::expm1(-2 * size));
  const double back = log_argument > 30.0 ? log_argument + std::log(2.0) : std::asinh(std::exp(log_argument));
  return std::copysign(size + back, loss) / of.mu;
}

/// P[low < X <= high] of (1 - rate) N(0, 1) + rate N(mean, 1).
double mixture_mass(double rate, double mean, double low, double high) {
  const auto between = [](double a, double b) {
    return a > 0.0 ? normal_tail(a) - normal_tail(b) : normal_tail(-b) - normal_tail(-a);
  };
  return (1.0 - rate) * between(low, high) + rate * between(low - mean, high - mean);
}

struct loss_range {
  double low = 0.0;
  double high = 0.0;
};

/// Where a release's losses are, but for the mass that is cut off.
loss_range range_of(const loss_pair& of) {
  return {loss_at(of, -release_reach), loss_at(of, release_reach + (of.up > 0.0 ? of.mu : 0.0))};
}

loss_range range_of(const mixed_pair& of) {
  auto range = range_of(of.first);
  if (of.share <= 0.0 && !of.joined) return range;
  const auto second = range_of(of.second);
  return {std::min(range.low, second.low), std::max(range.high, second.high)};
}

/// Adds `share` of a pair's losses to a grid that covers its range.
void add_losses(const loss_pair& of, double share, loss_grid& to) {
  const auto end = to.mass.size();
  constexpr double beyond = 40.0;  // where no mass is left
  const auto place = [&](std::size_t i) { return std::clamp(place_of_loss(of, to.loss(i)), -beyond, beyond + of.mu); };
  const auto upper = [&](double low, double high) { return share * mixture_mass(of.up, of.mu, low, high); };
  double low = place(0);
  to.mass[0] += upper(-beyond - of.mu, low);
  for (std::size_t i = 0; i + 1 < end; ++i) {
    const double high = place(i + 1);
    const double p = upper(low, high);
    const double q = share * mixture_mass(of.down, -of.mu, low, high);
    // a + b = p at the ends, with a exp(-l) + b exp(-l - width) = q.
    double b = (p - q * std::exp(to.loss(i))) / -std::expm1(-to.width);
    b = std::isfinite(b) ? std::clamp(b, 0.0, p) : p;
    to.mass[i] += p - b;
    to.mass[i + 1] += b;
    low = high;
  }
  to.certain += upper(low, beyond + 2 * of.mu);
}

loss_grid make_grid(const mixed_pair& of, double width) {
  const auto range = range_of(of);
  loss_grid made{.width = width, .first = static_cast<std::int64_t>(std::floor(range.low / width)), .mass = {}};
  const auto last = static_cast<std::int64_t>(std::ceil(range.high / width));
  made.mass.assign(static_cast<std::size_t>(last - made.first) + 1, 0.0);
  auto below = made;
  add_losses(of.first, 1.0 - of.share, made);
  if (of.share > 0.0) add_losses(of.second, of.share, made);
  if (!of.joined) return made;
  // Masses above a grid point give its delta, and those below it give it too, so each side can come from its own pair.
  add_losses(of.second, 1.0, below);
  const auto zero = -made.first;
  std::copy_n(below.mass.begin(), zero, made.mass.begin());
  auto& rest = made.mass[static_cast<std::size_t>(zero)];
  rest = 0.0;
  rest = 1.0 - made.certain - std::accumulate(made.mass.begin(), made.mass.end(), 0.0);
  return made;
}

struct repeated_grid {
  loss_grid grid;
  std::uint64_t count = 1;
};

std::vector<repeated_grid> make_grids(std::span<const repeated_pair> pairs, double width) {
  std::vector<repeated_grid> made;
  for (const auto& one : pairs) made.push_back({make_grid(one.of, width), one.count});
  return made;
}

/// log E[exp(lambda * loss)] of the sum of all releases, without certain losses.
double log_moment(std::span<const repeated_grid> grids, double lambda) {
  double sum = 0.0;
  for (const auto& [grid, count] : grids) {
    const double most = std::max(lambda * grid.loss(0), lambda * grid.loss(grid.mass.size() - 1));
    double all = 0.0;
    for (std::size_t i = 0; i < grid.mass.size(); ++i) all += grid.mass[i] * std::exp(lambda * grid.loss(i) - most);
    sum += static_cast<double>(count) * (std::log(all) + most);
  }
  return sum;
}

/// Where the composed losses are, but for outside_mass on each side: Chernoff bounds.
loss_range composed_range(std::span<const repeated_grid> grids) {
  loss_range range;
  for (const auto& [grid, count] : grids) {
    range.low += static_cast<double>(count) * grid.loss(0);
    range.high += static_cast<double>(count) * grid.loss(grid.mass.size() - 1);
  }
  const double spread = range.high - range.low;
  for (double lambda = 1.0 / spread; lambda * grids.front().grid.width < 1.0; lambda *= 1.3) {
    range.high = std::min(range.high, (log_moment(grids, lambda) - std::log(outside_mass)) / lambda);
    range.low = std::max(range.low, -(log_moment(grids, -lambda) - std::log(outside_mass)) / lambda);
  }
  return range;
}

std::complex<double> power(std::complex<double> base, std::uint64_t exponent) {
  std::complex<double> made = 1.0;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) made *= base;
    base *= base;
  }
  return made;
}

/// The sum of all releases. Losses outside of `range` are folded into it, and counted as certain on top.
loss_grid compose(std::span<const repeated_grid> grids, const loss_range& range) {
  const double width = grids.front().grid.width;
  loss_grid made{.width = width, .first = static_cast<std::int64_t>(std::floor(range.low / width)), .mass = {}};
  const auto needed =
      static_cast<std::uint64_t>(std::ceil(range.high / width)) - static_cast<std::uint64_t>(made.first);
  const auto size = std::bit_ceil(needed + 1);
  std::vector<std::complex<double>> product(size, 1.0);
  double not_certain = 0.0;
  std::int64_t shift = 0;
  for (const auto& [grid, count] : grids) {
    std::vector<std::complex<double>> values(size);
    for (std::size_t i = 0; i < grid.mass.size(); ++i) values[i % size] += grid.mass[i];
    detail::transform(values, false);
    for (std::size_t i = 0; i < size; ++i) product[i] *= power(values[i], count);
    not_certain += static_cast<double>(count) * std::log1p(-grid.certain);
    shift += static_cast<std::int64_t>(count) * grid.first;
  }
  detail::transform(product, true);
  made.mass.resize(size);
  const auto period = static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < period; ++i) {
    const auto from = ((made.first - shift + i) % period + period) % period;
    made.mass[static_cast<std::size_t>(i)] =
        std::max(0.0, product[static_cast<std::size_t>(from)].real() / static_cast<double>(size));
  }
  made.certain = -std::expm1(not_certain) + 2 * outside_mass;
  return made;
}

/// The composed losses, on a grid that is fine compared with their spread.
loss_grid compose(std::span<const repeated_pair> pairs) {
  constexpr double coarse = 1U << 12;
  constexpr double finest = (1U << 16) - 8;  // points of one release, and of all
  double widest = 0.0;
  for (const auto& one : pairs) {
    const auto range = range_of(one.of);
    widest = std::max(widest, range.high - range.low);
  }
  const auto range = composed_range(make_grids(pairs, widest / coarse));
  const double width = std::max(range.high - range.low, widest) / finest;
  // The coarse grid spreads losses more, so its range holds for the fine one.
  return compose(make_grids(pairs, width), range);
}

/// Sums over the losses above a grid point: of the masses, and of the masses times exp(point - loss).
struct losses_above {
  double mass = 0.0;
  double weighted = 0.0;
};

}  // namespace

double composed_epsilon(std::span<const repeated_pair> pairs, double delta) {
  const auto grid = compose(pairs);
  if (grid.certain > delta) return certain_loss;
  losses_above above;
  const double decay = std::exp(-grid.width);
  for (std::size_t i = grid.mass.size(); i-- > 0;) {
    // Here `above` is of losses above that of i + 1; move to i.
    const double loss = grid.loss(i);
    if (i + 1 < grid.mass.size()) {
      above.mass += grid.mass[i + 1];
      above.weighted = (above.weighted + grid.mass[i + 1]) * decay;
    }
    if (loss > 0.0 && above.mass - above.weighted + grid.certain <= delta) continue;
    // mass + certain - exp(epsilon - loss) weighted = delta
    if (above.weighted <= 0.0) return std::max(loss, 0.0);
    return std::max(0.0, loss + std::log((above.mass + grid.certain - delta) / above.weighted));
  }
  return 0.0;
}

double composed_delta(std::span<const repeated_pair> pairs, double epsilon) {
  const auto grid = compose(pairs);
  double sum = grid.certain;
  for (std::size_t i = 0; i < grid.mass.size(); ++i)
    if (grid.loss(i) > epsilon) sum += grid.mass[i] * -std::expm1(epsilon - grid.loss(i));
  return std::min(sum, 1.0);
}

}  // namespace furlong::federated::privacy
