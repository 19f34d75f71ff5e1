#include "federated/privacy/renyi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace furlong::federated::privacy {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return most == -infinite ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

/// log E[exp(exponent(X))] for a standard normal X, by the trapezoidal rule: its error falls exponentially for
/// functions that are analytic around the real line.
/// @param far where exp(exponent(x)) pulls the mass at most
/// @param step a part of the distance of the exponent's singularities from the real line
template <class Exponent>
double log_expectation(double far, double step, const Exponent& exponent) {
  constexpr double reach = 13.0;
  const auto count = static_cast<std::int64_t>((far + 2 * reach) / step) + 1;
  const auto at = [&](std::int64_t i) { return -reach + step * static_cast<double>(i); };
  const double unit = std::log(step) - 0.5 * std::log(2.0 * std::numbers::pi);
  double most = 0.0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, exponent(at(i)) - 0.5 * at(i) * at(i));
  // Near 1, its distance from 1 is summed: the logarithm is then as precise as that.
  const bool near = most < 1.0;
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = at(i);
    const double value = exponent(x);
    sum += near ? std::exp(-0.5 * x * x + unit) * std::expm1(value) : std::exp(value - 0.5 * x * x + unit - most);
  }
  return near ? std::log1p(sum) : std::log(sum) + most;
}

/// log((1 - rate) + rate exp(u))
double log_mixture(double rate, double u) {
  if (u > 1.0) return u + std::log1p((1.0 - rate) * std::expm1(-u));
  return std::log1p(rate * std::expm1(u));
}

constexpr double fine_step = 1.0 / 24;

/// log_poisson_moment() of a whole order, as a sum (Mironov, Talwar, Zhang 2019, equation 6).
double log_binomial_moment(double mu, double rate, double order) {
  double sum = -infinite;
  for (double k = 0.0; k <= order; k += 1.0)
    sum = log_sum(
        sum, log_choose(order, k) + k * std::log(rate) + (order - k) * std::log1p(-rate) + k * (k - 1) * mu * mu / 2);
  return sum;
}

/// (order - 1) times poisson_divergence().
double log_poisson_moment(double mu, double rate, double order) {
  if (rate <= 0.0 || mu <= 0.0) return 0.0;
  if (rate >= 1.0) return (order - 1) * gaussian_divergence(mu, order);
  constexpr double wide = 100.0;  // the integral has as many points as terms
  if (order * mu > wide && order == std::floor(order)) return log_binomial_moment(mu, rate, order);
  return log_expectation(order * mu, std::min(fine_step, 0.4 / mu),
                         [&](double x) { return order * log_mixture(rate, mu * x - 0.5 * mu * mu); });
}

}  // namespace

std::span<const double> default_orders() {
  static const auto orders = [] {
    std::vector<double> made;
    for (int tenth = 1; tenth < 100; ++tenth) made.push_back(1.0 + tenth / 10.0);
    for (int order = 11; order < 64; ++order) made.push_back(order);
    for (int order = 128; order <= 1024; order *= 2) made.push_back(order);
    return made;
  }();
  return orders;
}

double gaussian_divergence(double mu, double order) { return order * mu * mu / 2; }

double poisson_divergence(double mu, double rate, double order) {
  return log_poisson_moment(mu, rate, order) / (order - 1);
}

double truncated_divergence(double mu, double rate, std::uint64_t clients, std::uint64_t cap, double order) {
  const double moment = log_poisson_moment(mu, rate, order);
  const double full = binomial_tail(clients - 1, rate, cap);
  if (full <= 0.0) return moment / (order - 1);
  const double replaced = log_poisson_moment(2 * mu, rate, order);
  return log_sum(std::log1p(-full) + moment, std::log(full) + replaced) / (order - 1);
}

std::vector<double> fixed_size_divergences(double mu, double rate, std::span<const double> orders) {
  if (rate >= 1.0) {
    std::vector<double> plain;
    for (const double order : orders) plain.push_back(gaussian_divergence(mu, order));
    return plain;
  }
  const double last = orders.empty() ? 0.0 : std::ceil(*std::ranges::max_element(orders));
  const auto most = static_cast<std::size_t>(last);
  // log E|p/q - 1|^j for even j.
  std::vector<double> distance(most + 2, 0.0);
  for (std::size_t j = 2; j <= most + 1; j += 2) {
    const auto power = static_cast<double>(j);
    distance[j] = log_expectation(power * mu, fine_step, [&](double x) {
      return power * std::log(std::abs(std::expm1(mu * x - 0.5 * mu * mu)));
    });
  }
  // Of theorem 27: log of the term of j without rate and binomial coefficient.
  std::vector<double> term(most + 1, 0.0);
  for (std::size_t j = 2; j <= most; ++j) {
    const auto power = static_cast<double>(j);
    const double moment = power * (power - 1) * mu * mu / 2;
    const double near = 0.5 * (distance[j / 2 * 2] + distance[(j + 1) / 2 * 2]);
    term[j] = std::min(std::log(4.0) + near, std::log(2.0) + moment);
  }
  const auto log_moment = [&](std::size_t order) {
    double sum = 0.0;
    for (std::size_t j = 2; j <= order; ++j)
      sum = log_sum(sum, static_cast<double>(j) * std::log(rate) + term[j] +
                             log_choose(static_cast<double>(order), static_cast<double>(j)));
    return sum;
  };
  std::vector<double> moments(most + 1, 0.0);
  for (std::size_t order = 2; order <= most; ++order) moments[order] = log_moment(order);
  std::vector<double> found;
  for (const double order : orders) {
    const auto below = static_cast<std::size_t>(order);
    const double part = order - static_cast<double>(below);
    const double moment = part > 0 ? (1 - part) * moments[below] + part * moments[below + 1] : moments[below];
    found.push_back(moment / (order - 1));
  }
  return found;
}

double binomial_tail(std::uint64_t trials, double rate, std::uint64_t count) {
  if (count == 0) return 1.0;
  if (count > trials || rate <= 0.0) return 0.0;
  if (rate >= 1.0) return 1.0;
  const auto n = static_cast<double>(trials);
  const auto term = [&](std::uint64_t k) {
    return log_choose(n, static_cast<double>(k)) + static_cast<double>(k) * std::log(rate) +
           (n - static_cast<double>(k)) * std::log1p(-rate);
  };
  // Terms fall beyond the mean: the smaller side is summed away from it, until they add nothing.
  const auto add_up = [](double first, std::uint64_t steps, const auto& ratio) {
    double sum = 0.0;
    double one = std::exp(first);
    for (std::uint64_t i = 0; i < steps && one > sum * 1e-17; ++i) {
      sum += one;
      one *= ratio(i);
    }
    return sum;
  };
  const double odds = rate / (1.0 - rate);
  if (static_cast<double>(count) > n * rate)
    return std::min(1.0, add_up(term(count), trials - count + 1, [&](std::uint64_t i) {
                      const auto k = static_cast<double>(count + i);
                      return (n - k) / (k + 1) * odds;
                    }));
  return std::max(0.0, 1.0 - add_up(term(count - 1), count, [&](std::uint64_t i) {
                         const auto k = static_cast<double>(count - 1 - i);
                         return k / (n - k + 1) / odds;
                       }));
}

renyi_bound epsilon_from_divergences(std::span<const double> orders, std::span<const double> divergences,
                                     double delta) {
  renyi_bound best{infinite, 0.0};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double order = orders[i];
    const double divergence = divergences[i];
    if (!std::isfinite(divergence)) continue;
    double epsilon = divergence + std::log1p(-1.0 / order) - std::log(delta * order) / (order - 1);
    if (delta * delta > -std::expm1(-divergence)) epsilon = 0.0;
    if (epsilon < best.epsilon) best = {std::max(epsilon, 0.0), order};
  }
  return best;
}

}  // namespace furlong::federated::privacy
