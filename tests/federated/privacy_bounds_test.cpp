// Properties of the accountant, and its parts against their definitions.
#include <complex>

#include "federated/privacy/accountant.hpp"
#include "federated/privacy/detail/fourier.hpp"
#include "federated/privacy/gaussian.hpp"
#include "federated/privacy/loss_distribution.hpp"
#include "federated/privacy/renyi.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(privacy_bounds)

namespace {

mechanism of_kind(sampling how, double noise = 1.1, double rate = .05) { return {noise, how, rate, 400, 24}; }

constexpr sampling all_kinds[] = {sampling::poisson, sampling::truncated_poisson, sampling::fixed_size, sampling::none};

double epsilon_of(const mechanism& of, std::uint64_t releases, double delta) {
  return privacy_accountant(of).bound(releases, delta).epsilon;
}

/// delta of a pair at epsilon, by integrating its definition: the mass of P above exp(epsilon) Q.
double integrated_delta(const loss_pair& of, double epsilon) {
  const auto density = [](double x, double mean) { return std::exp(-0.5 * (x - mean) * (x - mean)); };
  double sum = 0;
  constexpr double step = 1e-4;
  for (double x = -12; x < 12 + of.mu; x += step) {
    const double p = (1 - of.up) * density(x, 0) + of.up * density(x, of.mu);
    const double q = (1 - of.down) * density(x, 0) + of.down * density(x, -of.mu);
    sum += std::max(0.0, p - std::exp(epsilon) * q) * step;
  }
  return sum / std::sqrt(2 * M_PI);
}

}  // namespace

BOOST_AUTO_TEST_CASE(grows_with_releases_and_rate_and_falls_with_noise_and_delta) {
  for (const auto kind : all_kinds) {
    BOOST_TEST_CONTEXT(to_string(kind)) {
      const double once = epsilon_of(of_kind(kind), 40, 1e-5);
      BOOST_TEST(once > 0.0);
      BOOST_TEST(epsilon_of(of_kind(kind), 0, 1e-5) == 0.0);
      BOOST_TEST(epsilon_of(of_kind(kind), 41, 1e-5) > once);
      BOOST_TEST(epsilon_of(of_kind(kind, 1.11), 40, 1e-5) < once);
      BOOST_TEST(epsilon_of(of_kind(kind), 40, 1.1e-5) < once);
      if (kind != sampling::none) BOOST_TEST(epsilon_of(of_kind(kind, 1.1, .051), 40, 1e-5) > once);
    }
  }
}

BOOST_AUTO_TEST_CASE(losses_are_below_the_renyi_bound_and_that_without_sampling) {
  for (const double noise : {0.6, 3.0})
    for (const double rate : {1e-3, .2})
      for (const std::uint64_t releases : {1, 2000}) {
        const auto found = privacy_accountant({noise, sampling::poisson, rate}).bound(releases, 1e-6);
        BOOST_TEST(found.epsilon <= found.renyi_epsilon);
        BOOST_TEST(found.epsilon <= gaussian_epsilon(std::sqrt(static_cast<double>(releases)) / noise, 1e-6));
      }
}

BOOST_AUTO_TEST_CASE(a_cap_costs_and_a_wide_one_nothing) {
  const double free = epsilon_of({1, sampling::poisson, .1}, 50, 1e-5);
  const auto capped = [](std::uint64_t cap) {
    return epsilon_of({1, sampling::truncated_poisson, .1, 300, cap}, 50, 1e-5);
  };
  BOOST_TEST(capped(36) > capped(48));
  BOOST_TEST(capped(48) > free);
  BOOST_TEST(std::abs(capped(120) - free) < 1e-4);
  BOOST_TEST(capped(300) == free);
  for (const double order : {1.5, 4.0, 16.0}) {
    BOOST_TEST(truncated_divergence(1, .1, 300, 300, order) == poisson_divergence(1, .1, order));
    BOOST_TEST(truncated_divergence(1, .1, 300, 36, order) > poisson_divergence(1, .1, order));
  }
}

// At rate 1 every sampling is the plain mechanism: of sensitivity 2 for replacing.
BOOST_AUTO_TEST_CASE(without_chance_nothing_is_amplified) {
  for (const double noise : {0.7, 2.0}) {
    const double plain = gaussian_epsilon(std::sqrt(5.0) / noise, 1e-5);
    BOOST_TEST(epsilon_of({noise, sampling::poisson, 1}, 5, 1e-5) == plain);
    BOOST_TEST(epsilon_of({noise, sampling::none}, 5, 1e-5) == plain);
    BOOST_TEST(epsilon_of({noise, sampling::fixed_size, 1}, 5, 1e-5) ==
               gaussian_epsilon(2 * std::sqrt(5.0) / noise, 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(one_release_matches_its_definition) {
  for (const loss_pair pair :
       {loss_pair{1.5, .3, 0}, loss_pair{1.5, 0, .3}, loss_pair{1.5, .3, .3}, loss_pair{.5, 1, 0}})
    for (const double epsilon : {0.0, 0.2, 1.0}) {
      const repeated_pair once[] = {{{pair}, 1}};
      BOOST_TEST(std::abs(composed_delta(once, epsilon) - integrated_delta(pair, epsilon)) < 1e-7);
    }
  // A mixture whose index is revealed has the mean of the deltas.
  const mixed_pair mixed{{1, .3, 0}, {2, .1, .1}, .25};
  const repeated_pair once[] = {{mixed, 1}};
  BOOST_TEST(std::abs(composed_delta(once, 0.5) - .75 * integrated_delta(mixed.first, 0.5) -
                      .25 * integrated_delta(mixed.second, 0.5)) < 1e-7);
}

// n Gaussian releases are one with sqrt(n) times the sensitivity, exactly.
BOOST_AUTO_TEST_CASE(composes_as_gaussians_do) {
  for (const std::uint64_t count : {1, 7, 400}) {
    const double mu = 1.7 / std::sqrt(static_cast<double>(count));
    const repeated_pair grid[] = {{{{mu, 1, 0}}, count}};
    BOOST_TEST(std::abs(composed_epsilon(grid, 1e-6) - gaussian_epsilon(1.7, 1e-6)) < 1e-4);
    BOOST_TEST(std::abs(composed_delta(grid, 2.0) - gaussian_delta(1.7, 2.0)) < 1e-5);
  }
  // Different mechanisms in any order; and releases that are distinguished add up to the same.
  const repeated_pair parts[] = {{{{.8, 1, 0}}, 2}, {{{.4, .2, 0}}, 30}, {{{.8, 1, 0}}, 1}};
  const repeated_pair whole[] = {{{{.4, .2, 0}}, 30}, {{{.8, 1, 0}}, 3}};
  BOOST_TEST(std::abs(composed_epsilon(parts, 1e-6) - composed_epsilon(whole, 1e-6)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(epsilon_and_delta_are_inverse) {
  for (const double mu : {.05, 1.0, 6.0})
    for (const double delta : {1e-3, 1e-9}) {
      const double epsilon = gaussian_epsilon(mu, delta);
      if (epsilon > 0) BOOST_TEST(gaussian_delta(mu, epsilon) == delta, boost::test_tools::tolerance(1e-9));
      BOOST_TEST(gaussian_delta(mu, epsilon) <= delta);
    }
  const repeated_pair pairs[] = {{{{1, .1, 0}}, 100}};
  BOOST_TEST(composed_delta(pairs, composed_epsilon(pairs, 1e-5)) == 1e-5, boost::test_tools::tolerance(1e-4));
}

// Theorem 27 bounds every mechanism that samples so, such as this one: all values are zero but those of the client that
// is replaced, by zeros.
BOOST_AUTO_TEST_CASE(fixed_size_bounds_a_real_mechanism) {
  constexpr double mu = 1.2;
  constexpr double rate = .1;
  const std::vector<double> orders = {2, 3, 4.5, 8};
  const auto bounds = fixed_size_divergences(mu, rate, orders);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    BOOST_TEST(bounds[i] > poisson_divergence(mu / 2, rate, orders[i]));
    BOOST_TEST(bounds[i] < gaussian_divergence(mu, orders[i]));
  }
}

BOOST_AUTO_TEST_CASE(noise_and_releases_for_an_epsilon) {
  for (const auto kind : all_kinds) {
    BOOST_TEST_CONTEXT(to_string(kind)) {
      const double noise = noise_for(of_kind(kind), 30, 2.0, 1e-5);
      BOOST_TEST(epsilon_of(of_kind(kind, noise), 30, 1e-5) <= 2.0);
      BOOST_TEST(epsilon_of(of_kind(kind, noise * (1 - 2e-4)), 30, 1e-5) > 2.0);
      const privacy_accountant with(of_kind(kind, 2.0));
      const auto most = with.most_releases(1.0, 1e-5, 100000);
      BOOST_TEST(with.bound(most, 1e-5).epsilon <= 1.0);
      BOOST_TEST(with.bound(most + 1, 1e-5).epsilon > 1.0);
      if (most > 0) BOOST_TEST(with.most_releases(1.0, 1e-5, most - 1) == most - 1);
    }
  }
  BOOST_TEST(privacy_accountant({1e-3, sampling::none}).most_releases(1.0, 1e-5, 10) == 0U);
}

BOOST_AUTO_TEST_CASE(no_noise_guarantees_nothing) {
  for (const auto kind : all_kinds) BOOST_TEST(std::isinf(epsilon_of(of_kind(kind, 0.0), 1, 1e-5)));
}

BOOST_AUTO_TEST_CASE(binomial_tails_are_sums) {
  for (const double rate : {.01, .3, .9}) {
    double rest = 1;
    double term = std::pow(1 - rate, 20);
    for (std::uint64_t k = 0; k <= 21; ++k) {
      BOOST_TEST(std::abs(binomial_tail(20, rate, k) - rest) < 1e-12);
      rest -= term;
      const auto at = static_cast<double>(k);
      term *= (20 - at) / (at + 1) * rate / (1 - rate);
    }
  }
  BOOST_TEST(binomial_tail(100000, 1e-3, 300) < 1e-40);
  BOOST_TEST(binomial_tail(100000, 1e-3, 300) > 0.0);
}

BOOST_AUTO_TEST_CASE(normal_tails) {
  BOOST_TEST(normal_tail(1.959963984540054) == 0.025, boost::test_tools::tolerance(1e-12));
  // The asymptotic series meets the function where it takes over.
  BOOST_TEST(log_normal_tail(25.0) == std::log(normal_tail(25.0)), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(log_normal_tail(100.0) == -5005.5242086942050886, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(fourier_transforms) {
  std::vector<std::complex<double>> values;
  for (int i = 0; i < 16; ++i) values.emplace_back(i * i % 7, i % 3);
  auto found = values;
  detail::transform(found, false);
  for (std::size_t k = 0; k < 16; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < 16; ++i)
      sum += values[i] * std::polar(1.0, -2 * M_PI * static_cast<double>(i * k) / 16);
    BOOST_TEST(std::abs(sum - found[k]) < 1e-12);
  }
  detail::transform(found, true);
  for (std::size_t i = 0; i < 16; ++i) BOOST_TEST(std::abs(found[i] / 16.0 - values[i]) < 1e-14);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
