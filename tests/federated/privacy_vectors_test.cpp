// The accountant against published values of other accountants. Each case names its source, its orders and how the
// source turns divergences into epsilon.
//
// All RDP sources convert by Canonne, Kamath, Steinke 2020, proposition 12; Opacus writes it as Balle et al. 2020,
// theorem 21, which is the same formula.
#include <array>
#include <numeric>

#include "federated/privacy/accountant.hpp"
#include "federated/privacy/gaussian.hpp"
#include "federated/privacy/loss_distribution.hpp"
#include "federated/privacy/renyi.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(privacy_vectors)

namespace {

using numbers = std::vector<double>;

numbers joined(numbers first, const numbers& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

numbers stepped(double first, double step, std::size_t count) {
  numbers made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = first + step * static_cast<double>(i);
  return made;
}

/// RDPAccountant.DEFAULT_ALPHAS
numbers opacus_orders() { return joined(stepped(1.1, 0.1, 99), stepped(12, 1, 52)); }
/// dp_accounting.rdp.DEFAULT_RDP_ORDERS
numbers dp_accounting_orders() {
  return joined(joined(stepped(1.1, 0.1, 99), stepped(11, 1, 53)), {128, 256, 512, 1024});
}
/// compute_dp_sgd_privacy of TensorFlow Privacy
numbers tensorflow_orders() {
  return joined(joined({1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 4.5}, stepped(5, 1, 59)), {128, 256, 512});
}

template <class Divergence>
renyi_bound converted(const numbers& orders, double count, double delta, const Divergence& of) {
  numbers composed;
  for (const double order : orders) composed.push_back(count * of(order));
  return epsilon_from_divergences(orders, composed, delta);
}

renyi_bound poisson_rdp(double noise, double rate, double count, double delta, const numbers& orders) {
  return converted(orders, count, delta, [&](double order) { return poisson_divergence(1 / noise, rate, order); });
}

double poisson_epsilon(double noise, double rate, std::uint64_t count, double delta) {
  return privacy_accountant({noise, sampling::poisson, rate}).bound(count, delta).epsilon;
}

/// log |C(order, i)|
double log_binomial(double order, double i) {
  return std::lgamma(order + 1) - std::lgamma(i + 1) - std::lgamma(order - i + 1);
}

double log_plus(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

/// The series of Mironov, Talwar, Zhang 2019, section 3.3, as dp-accounting (and Opacus since 1.5) sums it for
/// fractional orders: by the absolute values of its terms, whose signs alternate from the order on. An upper bound of
/// the divergence.
double absolute_series(double noise, double rate, double order) {
  const double turn = noise * noise * std::log(1 / rate - 1) + 0.5;
  double sum = -INFINITY;
  for (double i = 0; i < 200; ++i) {
    const double j = order - i;
    const auto moment = [&](double k) { return (k * k - k) / (2 * noise * noise); };
    sum = log_plus(sum, log_binomial(order, i) + i * std::log(rate) + j * std::log1p(-rate) + moment(i) +
                            log_normal_tail((i - turn) / noise));
    sum = log_plus(sum, log_binomial(order, i) + j * std::log(rate) + i * std::log1p(-rate) + moment(j) +
                            log_normal_tail((turn - j) / noise));
  }
  return sum / (order - 1);
}

/// Opacus' get_noise_multiplier(): bisection from [0, 10] until epsilon is at most 0.01 below the target.
template <class Epsilon>
double opacus_noise(double target, const Epsilon& epsilon_of) {
  double low = 0;
  double high = 10;
  double reached = epsilon_of(high);
  BOOST_REQUIRE(reached <= target);
  while (target - reached > 0.01) {
    const double middle = (low + high) / 2;
    const double epsilon = epsilon_of(middle);
    if (epsilon < target) {
      high = middle;
      reached = epsilon;
    } else {
      low = middle;
    }
  }
  return high;
}

/// What Opacus' PRV accountant returns: an upper bound, which adds its errors, 0.01 of epsilon and a thousandth of
/// delta, to what it computed (Gopi, Lee, Wutschitz 2021, algorithm 1).
double prv_upper_bound(double noise, double rate, std::uint64_t count, double delta) {
  return poisson_epsilon(noise, rate, count, delta * (1 - 1e-3)) + 0.01;
}

/// Half a unit of the last digit.
void check_digits(double found, double expected, int digits) {
  BOOST_TEST(std::abs(found - expected) <= 0.5 * std::pow(10.0, -digits) * (1 + 1e-9),
             found << " instead of " << expected);
}
void check_within(double found, double expected, double most) {
  BOOST_TEST(std::abs(found - expected) <= most, found << " instead of " << expected);
}

constexpr double ml1m = 100.0 / 4832;

}  // namespace

// dp-accounting, rdp_privacy_accountant_test: noise 2.5, rate .01, 50 steps. Whole orders are exact, and agree in all
// digits. Of fractional ones it has the sum of absolute_series(), an upper bound; the divergences themselves are
// 6.50070897e-4 (mpmath; TensorFlow Privacy's test has 6.5007e-4) and 1.08541806e-3.
BOOST_AUTO_TEST_CASE(renyi_divergences_by_order) {
  check_within(50 * poisson_divergence(1 / 2.5, .01, 5), 2.18075656e-3, 0.5e-11);
  check_within(50 * poisson_divergence(1 / 2.5, .01, 50), 2.38460375e-2, 0.5e-10);
  check_within(50 * poisson_divergence(1 / 2.5, .01, 100), 1.67416308e2, 0.5e-6);
  check_within(50 * absolute_series(2.5, .01, 1.5), 6.70579741e-4, 0.5e-12);
  check_within(50 * absolute_series(2.5, .01, 2.5), 1.08548710e-3, 0.5e-11);
  check_within(50 * poisson_divergence(1 / 2.5, .01, 1.5), 6.50070897e-4, 0.5e-12);
  check_within(50 * poisson_divergence(1 / 2.5, .01, 2.5), 1.08541806e-3, 0.5e-11);
}

// dp-accounting, measured: noise 1, rate .01, one step.
BOOST_AUTO_TEST_CASE(renyi_divergences_of_a_step) {
  const std::array<std::pair<double, double>, 5> of = {
      {{2, 1.7181342e-4}, {3, 2.6463757e-4}, {4, 3.6315405e-4}, {5, 4.6866724e-4}, {8, 8.9364391e-4}}};
  for (const auto& [order, expected] : of) check_within(poisson_divergence(1, .01, order), expected, 0.5e-11);
}

// Opacus, accountants_test: RDP, noise 1.5, rate .04, 2250 steps, delta 1e-5. By its orders, 7.329111171484 to 13
// digits (mpmath); the digits that Opacus prints end in 143, since it sums logarithms.
BOOST_AUTO_TEST_CASE(opacus_rdp) {
  const auto by_opacus = poisson_rdp(1.5, .04, 2250, 1e-5, opacus_orders());
  check_within(by_opacus.epsilon, 7.32911117143, 1e-10);
  check_digits(by_opacus.epsilon, 7.329111171484, 12);
  BOOST_TEST(by_opacus.order == 3.9, boost::test_tools::tolerance(1e-12));
  // dp-accounting, by its orders and its series.
  const auto by_series = converted(dp_accounting_orders(), 2250, 1e-5, [](double order) {
    return order == std::floor(order) ? poisson_divergence(1 / 1.5, .04, order) : absolute_series(1.5, .04, order);
  });
  check_digits(by_series.epsilon, 7.329335, 6);
}

// Opacus, accountants_test: the noise for epsilon 8 after 2000 steps at rate .04, delta 1e-5.
BOOST_AUTO_TEST_CASE(opacus_noise_for_epsilon) {
  check_digits(opacus_noise(8, [](double z) { return poisson_rdp(z, .04, 2000, 1e-5, opacus_orders()).epsilon; }),
               1.3562, 4);
  check_digits(opacus_noise(8, [](double z) { return prv_upper_bound(z, .04, 2000, 1e-5); }), 1.2915, 4);
}

// Opacus, accountants_test (2249 steps) and prv_accountant_test: PRV. dp-accounting, measured: PLD (2250 steps).
BOOST_AUTO_TEST_CASE(privacy_loss_of_poisson_sampling) {
  check_within(prv_upper_bound(1.5, .04, 2249, 1e-5), 6.777395712150674, 1e-3);
  check_within(poisson_epsilon(1.5, .04, 2250, 1e-5), 6.768787, 1e-3);
  check_within(prv_upper_bound(.8, .001, 1000, 1e-6), .4777713, 1e-3);
  check_within(prv_upper_bound(1.5, .05, 1000, 1e-6), 6.2099692, 1e-3);
  check_within(prv_upper_bound(2, .05, 1000, 1e-6), 4.1727999, 1e-3);
  check_within(prv_upper_bound(3, .2, 100, 1e-6), 3.3812205, 1e-3);
  check_within(prv_upper_bound(1.5, .2, 100, 1e-6), 8.4989779, 1e-3);
  check_within(prv_upper_bound(3, .001, 50000, 1e-6), .3096942, 1e-3);
}

// dp-accounting, pld_privacy_accountant_test: noise .5, rate .2, 3 steps; its tolerance is 1e-3.
BOOST_AUTO_TEST_CASE(delta_of_poisson_sampling) {
  const repeated_pair removed[] = {{{{2, .2, 0}}, 3}};
  check_within(composed_delta(removed, 1), .15594, 1e-3);
}

// dp-accounting, rdp_privacy_accountant_test: orders 1.001 to 100 in steps of .001, conversion of Rényi divergences.
// Exactly, the same noise gives less.
BOOST_AUTO_TEST_CASE(plain_gaussian) {
  const auto by_rdp = converted(stepped(1.001, .001, 98999), 1, 1e-6,
                                [](double order) { return gaussian_divergence(1 / 4.530877117, order); });
  check_within(by_rdp.epsilon, 1, 0.5e-7);
  BOOST_TEST(gaussian_epsilon(1 / 4.530877117, 1e-6) < by_rdp.epsilon);
  // Measured: noise 1, delta 1e-5, by RDP for adding or removing, and by PLD for replacing.
  check_digits(
      converted(dp_accounting_orders(), 1, 1e-5, [](double order) { return gaussian_divergence(1, order); }).epsilon,
      4.7285, 4);
  check_digits(gaussian_epsilon(2, 1e-5), 9.997, 3);
}

// dp-accounting, measured: noise 10, all clients, 100 steps, delta 1e-6: RDP and PLD.
BOOST_AUTO_TEST_CASE(unsampled_steps) {
  const auto found = privacy_accountant({10, sampling::poisson, 1}).bound(100, 1e-6);
  check_digits(found.renyi_epsilon, 5.2215, 4);
  check_digits(found.epsilon, 4.8866, 4);
  const repeated_pair by_grid[] = {{{{.1, 1, 0}}, 100}};
  check_within(composed_epsilon(by_grid, 1e-6), found.epsilon, 1e-4);
}

// dp-accounting, pld_privacy_accountant_test: two truncated Poisson mechanisms.
BOOST_AUTO_TEST_CASE(truncated_poisson) {
  const auto pair = [](std::uint64_t clients, std::uint64_t cap) {
    const double full = binomial_tail(clients - 1, .5, cap);
    const double kept =
        binomial_tail(clients, .5, cap + 1) * static_cast<double>(cap) / full / static_cast<double>(clients);
    return mixed_pair{{1, .5, 0}, {2, kept, kept}, full};
  };
  const repeated_pair both[] = {{pair(4, 2), 3}, {pair(3, 2), 2}};
  check_within(composed_epsilon(both, 1e-6), 17.904330, 1e-3);
  // Measured: ml-1m with a cap of 140, in all 500 rounds.
  const privacy_accountant capped({1, sampling::truncated_poisson, ml1m, 4832, 140});
  check_within(capped.bound(500, 1e-4).epsilon, 2.4216, 1e-3);
}

// TensorFlow Privacy, compute_dp_sgd_privacy_test: its orders; printed to the last bit, compared to 12 digits.
BOOST_AUTO_TEST_CASE(tensorflow_privacy) {
  const auto first = poisson_rdp(1.3, 150.0 / 60000, 15 * 400, 1e-5, tensorflow_orders());
  check_within(first.epsilon, .7242234026109595, 1e-12);
  BOOST_TEST(first.order == 19);
  const auto second = poisson_rdp(1, 100.0 / 1e5, 30 * 1000, 1e-7, tensorflow_orders());
  check_within(second.epsilon, 1.4154988495444842, 1e-12);
  BOOST_TEST(second.order == 13);
}

// dp-accounting, measured: ml-1m, 100 of 4,832 clients, 500 rounds, delta 1e-4: RDP by its orders, PLD, and 11
// participations without amplification (PLD). fixed_cohorts_test has cohorts of fixed size.
BOOST_AUTO_TEST_CASE(movielens) {
  struct line {
    double noise, rdp, pld, plain;
    int plain_digits;
  };
  for (const auto& of :
       {line{1, 2.7594, 2.3953, 17.2, 1}, line{2, .8930, .7918, 7.02, 2}, line{4, .3814, .3365, 3.05, 2}}) {
    const auto sampled = privacy_accountant({of.noise, sampling::poisson, ml1m}).bound(500, 1e-4);
    check_digits(sampled.renyi_epsilon, of.rdp, 4);
    check_within(sampled.epsilon, of.pld, 1e-3);
    BOOST_TEST(sampled.accountant == "pld");
    const auto plain = privacy_accountant({of.noise, sampling::none}).bound(11, 1e-4);
    check_digits(plain.epsilon, of.plain, of.plain_digits);
  }
  const auto other = privacy_accountant({1, sampling::poisson, .01}).bound(1000, 1e-5);
  check_digits(other.renyi_epsilon, 2.1014, 4);
  check_within(other.epsilon, 1.8282, 1e-3);
}

// dp-accounting: rho = .81 at delta 1e-10, by a fine grid of orders. A release of noise z has rho = 1 / (2 z^2).
BOOST_AUTO_TEST_CASE(concentrated) {
  check_within(converted(stepped(1.01, .005, 4000), 1, 1e-10,
                         [](double order) { return gaussian_divergence(std::sqrt(2 * .81), order); })
                   .epsilon,
               8.92, .01);
}

// dp-accounting, rdp_privacy_accountant_test: DP-FTRL with 1,600 steps in a tree, where a client's step is in a sum of
// each of the 11 levels; orders of Opacus, delta 1e-6.
BOOST_AUTO_TEST_CASE(tree_aggregation) {
  const mechanism once{.tree = 1600, .apart = 1600};
  const auto levels = static_cast<double>(tree_releases(once, 1));
  BOOST_TEST(levels == std::ceil(std::log2(1600 + 1)));
  const auto epsilon = [&](double noise) {
    return converted(opacus_orders(), levels, 1e-6, [&](double order) { return gaussian_divergence(1 / noise, order); })
        .epsilon;
  };
  BOOST_TEST(epsilon(1.13) < 19.74);
  BOOST_TEST(epsilon(8.83) < 2.04);
  for (const double noise : {1.13, 8.83})
    BOOST_TEST(privacy_accountant({.noise = noise, .tree = 1600, .apart = 1600}).bound(1, 1e-6).epsilon <
               epsilon(noise));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
