// Lower bounds of epsilon from guesses, against figures of scipy (the formulas of the paper, by its binomial
// distribution and brentq); tests/tools/audit_test.py has the same formulas for what the command prints.
#include "federated/audit/audit_bound.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "base/random.hpp"

BOOST_AUTO_TEST_SUITE(audit_bounds)

using namespace furlong;
using namespace furlong::federated::privacy;

namespace {

struct probability_case {
  guesses of;
  double epsilon;
  double delta;
  double expected;
};
struct bound_case {
  guesses of;
  double delta;
  double least;
  double expected;
};

}  // namespace

BOOST_AUTO_TEST_CASE(probabilities_are_those_of_the_theorem) {
  for (const auto& [of, epsilon, delta, expected] : {
           probability_case{{1000, 100, 90}, 1.0, 0.0, 2.7358128007661584e-05},
           probability_case{{1000, 100, 90}, 1.0, 1e-5, 0.0008412885614385313},
           probability_case{{1000, 100, 100}, 3.0, 1e-5, 0.010411268784327627},
           probability_case{{10000, 1500, 1100}, 0.5, 1e-5, 0.0009660705763094423},
           probability_case{{64, 64, 40}, 0.0, 0.0, 0.029970594783499616},
           probability_case{{5000, 313, 300}, 2.5, 1e-6, 0.010384990028661696},
       })
    BOOST_TEST(std::abs(guess_probability(of, epsilon, delta) / expected - 1) < 1e-9);
  BOOST_TEST(guess_probability({10, 5, 0}, 1.0, 1e-5) > 1 - 1e-12);
}

BOOST_AUTO_TEST_CASE(bounds_are_those_of_the_theorem) {
  for (const auto& [of, delta, least, expected] : {
           bound_case{{1000, 100, 90}, 0.0, 0.05, 1.6308231927409618},
           bound_case{{1000, 100, 90}, 1e-5, 0.05, 1.626143480695726},
           bound_case{{1000, 100, 100}, 0.0, 0.05, 3.4929654311522915},
           bound_case{{10000, 1500, 1100}, 1e-5, 0.05 / 8, 0.8549810055565423},
           bound_case{{64, 64, 40}, 0.0, 0.05, 0.05917348294918227},
           bound_case{{64, 64, 30}, 0.0, 0.05, 0.0},
           bound_case{{5000, 313, 300}, 1e-6, 0.01, 2.4965931232907375},
       })
    BOOST_TEST(std::abs(refuted_epsilon(of, delta, least) - expected) < 2e-9);
  BOOST_TEST(refuted_epsilon({100, 0, 0}, 0.0, 0.05) == 0.0);
}

// Randomized response with a known epsilon: the bound is below it in all but a share of 1 - confidence, and not far.
BOOST_AUTO_TEST_CASE(randomized_response_is_bounded_and_nearly_reached) {
  const double epsilon = 1.5;
  const double honesty = 1 / (1 + std::exp(-epsilon));
  int above = 0;
  for (std::uint32_t trial = 0; trial < 200; ++trial) {
    random_stream stream(trial, purpose::test);
    std::vector<judged_canary> all(2000);
    for (auto& one : all) {
      one.in = stream.below(2) == 1;
      const bool told = (stream.uniform() < honesty) == one.in;
      one.log_odds = told ? epsilon : -epsilon;
    }
    const auto found = bound_by_canaries(all, epsilon, 0.0, 0.95);
    if (found.epsilon > epsilon) ++above;
    BOOST_TEST(found.epsilon > 0.7 * epsilon);
    BOOST_TEST((found.p_value < 0.05) == (found.epsilon > epsilon));
  }
  BOOST_TEST(above <= 18);  // 10 expected at most: P[Binomial(200, 0.05) > 18] = 0.006
}

BOOST_AUTO_TEST_CASE(the_surest_guesses_count_and_their_number_costs_confidence) {
  std::vector<judged_canary> all(1024);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].in = i % 2 == 0;
    const bool sure = i < 64;
    all[i].log_odds = sure ? (all[i].in ? 3.0 : -3.0) : (i % 4 < 2 ? 0.1 : -0.1);  // right in half of the cases
  }
  const auto found = bound_by_canaries(all, 0.5, 1e-6, 0.95);
  BOOST_TEST(found.best.canaries == 1024U);
  BOOST_TEST(found.best.made == 64U);
  BOOST_TEST(found.best.right == 64U);
  BOOST_TEST(found.tried == 8U);  // 1024, 512, ..., 8
  BOOST_TEST(found.epsilon == refuted_epsilon({1024, 64, 64}, 1e-6, 0.05 / 8));
  BOOST_TEST(found.p_value == 8 * guess_probability({1024, 64, 64}, 0.5, 1e-6));
}

BOOST_AUTO_TEST_CASE(a_score_that_knows_nothing_tells_nobody) {
  const auto even = tell_members(std::vector<double>{1, 1, 2}, std::vector<double>{1, 2, 1});
  BOOST_TEST(even.auc == 0.5);
  const auto all = tell_members(std::vector<double>{3, 4}, std::vector<double>{1, 2});
  BOOST_TEST(all.auc == 1.0);
  BOOST_TEST(all.half_width == 0.0);
  // 7 wins of 9, one of them as two ties; the variance by hand.
  const auto some = tell_members(std::vector<double>{2, 4, 5}, std::vector<double>{1, 2, 4.5});
  const double auc = (1.5 + 2 + 3) / 9;
  BOOST_TEST(std::abs(some.auc - auc) < 1e-15);
  const double q1 = auc / (2 - auc);
  const double q2 = 2 * auc * auc / (1 + auc);
  const double variance = (auc * (1 - auc) + 2 * (q1 - auc * auc) + 2 * (q2 - auc * auc)) / 9;
  BOOST_TEST(std::abs(some.half_width - 1.959963984540054 * std::sqrt(variance)) < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
