// The account of cohorts of fixed size: against a computation that shares nothing with it but the theorem, and against
// explicit data sets, which it may never be below.
#include <complex>

#include "federated/privacy/accountant.hpp"
#include "federated/privacy/gaussian.hpp"
#include "federated/privacy/loss_distribution.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(fixed_cohorts)

namespace {

using complex = std::complex<double>;

struct setting {
  double noise, rate;
  std::uint64_t rounds;
  double delta;
};
constexpr double ml1m = 100.0 / 4832;
constexpr setting settings[] = {{1, ml1m, 500, 1e-4},    {2, ml1m, 500, 1e-4}, {4, ml1m, 500, 1e-4},
                                {0.8, 0.01, 1000, 1e-6}, {1.5, 0.2, 50, 1e-5}, {3, 0.05, 4000, 1e-8}};

double bound_of(const setting& of) {
  return privacy_accountant({of.noise, sampling::fixed_size, of.rate}).bound(of.rounds, of.delta).epsilon;
}

/// Moments of the privacy loss from the profile h(a), the largest delta of replacing a client at epsilon = log a, for
/// which theory gives: h = rate times that of the Gaussian mechanism at 1 + (a - 1) / rate, for a >= 1 (Balle, Barthe,
/// Gaboardi 2018), and h(a) = 1 - a + a h(1 / a), as neighbours can be exchanged.
class profile_moments {
 public:
  explicit profile_moments(const setting& of) : mu_(2 / of.noise) {
    const double step = 0.01 * std::min(1.0, mu_);
    const auto count = static_cast<int>((2 * mu_ * mu_ + 20 * mu_) / step);
    for (int i = 0; i <= count; ++i) {  // Simpson's rule over the Gaussian mechanism's epsilon
      const double epsilon = step * i;
      const double loss = std::log1p(of.rate * std::expm1(epsilon));
      const double weight = step / 3 * (i == 0 ? 1 : i % 2 == 1 ? 4 : 2);
      points_.push_back({loss, weight * of.rate * std::exp(epsilon - loss) * of.rate * gaussian_delta(mu_, epsilon)});
    }
  }

  /// E[exp(s loss)] = 1 + s (s + 1) times the integral of exp(s l) (h(exp(l)) - max(0, 1 - exp(l))), by parts.
  template <class Number>
  [[nodiscard]] Number operator()(Number s) const {
    Number sum = 0;
    for (const auto& [loss, weight] : points_) sum += weight * (std::exp(s * loss) + std::exp(-(s + 1.0) * loss));
    return 1.0 + s * (s + 1.0) * sum;
  }

  /// Orders whose moments the points cover.
  [[nodiscard]] double most() const { return 10 / mu_; }

 private:
  double mu_;
  std::vector<std::pair<double, double>> points_;
};

/// epsilon of many releases from the moments alone: delta = E[max(0, 1 - exp(epsilon - loss))] is the integral of
/// moment(s)^rounds exp(-s epsilon) / (s (s + 1)) / (2 pi i) over a vertical line, the best for Chernoff's bound.
double epsilon_by_moments(const setting& of) {
  const profile_moments moment(of);
  const auto rounds = static_cast<double>(of.rounds);
  double order = 0;
  double least = INFINITY;
  for (double at = 0.05; at < moment.most(); at *= 1.1) {
    const double bound =
        (rounds * std::log(moment(at)) - std::log(of.delta) + at * std::log(at) - (at + 1) * std::log(at + 1)) / at;
    if (bound < least) {
      least = bound;
      order = at;
    }
  }
  const auto exponent = [&](double at) { return rounds * std::log(moment(at)); };
  const double near = 0.01 * order;
  const double curvature =
      (exponent(order + near) - 2 * exponent(order) + exponent(order - near)) / (near * near) + 1 / (order * order);
  const double step = 0.15 / std::sqrt(curvature);
  std::vector<std::pair<complex, complex>> terms;
  for (int i = 0; i < 400; ++i) {
    const complex s(order, step * i);
    terms.emplace_back(s, (i == 0 ? 0.5 : 1.0) * std::pow(moment(s), rounds) / (s * (s + 1.0)));
  }
  const auto delta = [&](double epsilon) {
    double sum = 0;
    for (const auto& [s, term] : terms) sum += (term * std::exp(-s * epsilon)).real();
    return sum * step / M_PI;
  };
  double low = 0;
  double high = least;
  while (high - low > 1e-9 * high) {
    const double middle = (low + high) / 2;
    (delta(middle) > of.delta ? low : high) = middle;
  }
  return high;
}

/// The larger epsilon of two data sets, in which all clients report the negative bound or one the positive one, so that
/// a release is N(0, 1) or a mixture of it. In the last `reversed` rounds all signs are changed.
double explicit_epsilon(const setting& of, std::uint64_t reversed) {
  const double mu = 2 / of.noise;
  const repeated_pair pairs[] = {{{{mu, of.rate, 0}}, of.rounds - reversed}, {{{mu, 0, of.rate}}, reversed}};
  const repeated_pair back[] = {{{{mu, 0, of.rate}}, of.rounds - reversed}, {{{mu, of.rate, 0}}, reversed}};
  return std::max(composed_epsilon(pairs, of.delta), composed_epsilon(back, of.delta));
}

/// delta of the noisy sums over all cohorts of two of some values: the mass of the first above exp(epsilon) times that
/// of the second.
double delta_of_pairs(const std::vector<double>& first, const std::vector<double>& second, double noise,
                      double epsilon) {
  const auto density = [&](const std::vector<double>& values, double x) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) sum += std::exp(-0.5 * std::pow((x - values[i] - values[j]) / noise, 2));
    return sum / (0.5 * static_cast<double>(values.size() * (values.size() - 1)));
  };
  double sum = 0;
  constexpr double step = 0.01;
  for (double x = -2 - 8 * noise; x < 2 + 8 * noise; x += step)
    sum += std::max(0.0, density(first, x) - std::exp(epsilon) * density(second, x)) * step;
  return sum / (noise * std::sqrt(2 * M_PI));
}

}  // namespace

// The old bound stays beside it: theorem 27 of Wang, Balle, Kasiviswanathan 2019.
BOOST_AUTO_TEST_CASE(movielens) {
  struct line {
    double noise, epsilon, renyi, half_digit;
  };
  for (const auto& of : {line{1, 17.2572, 30.7, .05}, line{2, 2.8670, 4.89, .005}, line{4, .9118, 1.92, .005}}) {
    const auto found = privacy_accountant({of.noise, sampling::fixed_size, ml1m}).bound(500, 1e-4);
    BOOST_TEST(std::abs(found.epsilon - of.epsilon) < 2e-4 * std::max(1.0, of.epsilon), found.epsilon);
    BOOST_TEST(std::abs(found.renyi_epsilon - of.renyi) < of.half_digit, found.renyi_epsilon);
    BOOST_TEST(found.accountant == "pld");
  }
}

BOOST_AUTO_TEST_CASE(equals_an_independent_computation) {
  for (const auto& of : settings) {
    const double expected = epsilon_by_moments(of);
    const double found = bound_of(of);
    BOOST_TEST_CONTEXT("noise " << of.noise << ", rate " << of.rate << ": " << found << " and " << expected) {
      BOOST_TEST(std::abs(found - expected) < 2e-4 * std::max(1.0, expected));
      BOOST_TEST(found > expected - 1e-6);
    }
  }
}

// Reversing rounds is why the pair of the first two data sets alone, which has the largest epsilon here, proves
// nothing.
BOOST_AUTO_TEST_CASE(is_never_below_explicit_data_sets) {
  for (const auto& of : settings) {
    const double found = bound_of(of);
    double most = 0;
    for (const std::uint64_t reversed : {std::uint64_t{0}, of.rounds / 10, of.rounds / 2})
      most = std::max(most, explicit_epsilon(of, reversed));
    BOOST_TEST_CONTEXT("noise " << of.noise << ", rate " << of.rate) {
      BOOST_TEST(found > most);
      BOOST_TEST(found < 1.5 * most);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_release_bounds_all_data_sets) {
  constexpr double noise = 1.2;
  constexpr double rate = 2.0 / 5;
  const repeated_pair once[] = {{{{2 / noise, rate, 0}, {2 / noise, 0, rate}, 0.0, true}, 1}};
  struct neighbours {
    std::vector<double> one, other;
  };
  const std::vector<neighbours> all = {{{-1, -1, -1, -1, 1}, {-1, -1, -1, -1, -1}},
                                       {{0, 0, 0, 0, 1}, {0, 0, 0, 0, -1}},
                                       {{-1, 1, .5, -.5, 1}, {-1, 1, .5, -.5, -1}},
                                       {{1, 1, 1, -1, 0}, {1, 1, 1, -1, -1}}};
  for (const double epsilon : {0.0, 0.1, 0.5, 1.0, 2.0}) {
    const double bound = composed_delta(once, epsilon);
    for (const auto& [one, other] : all) {
      BOOST_TEST(delta_of_pairs(one, other, noise, epsilon) < bound + 1e-6);
      BOOST_TEST(delta_of_pairs(other, one, noise, epsilon) < bound + 1e-6);
    }
    // The first ones attain it.
    BOOST_TEST(std::abs(delta_of_pairs(all[0].one, all[0].other, noise, epsilon) - bound) < 1e-4);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
