#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "federated/participation/uniform.hpp"

using namespace furlong;

namespace {

std::vector<std::uint32_t> population(std::uint32_t n, std::uint32_t step) {
  std::vector<std::uint32_t> clients(n);
  for (std::uint32_t i = 0; i < n; ++i) clients[i] = 5 + step * i;
  return clients;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(participation)

BOOST_AUTO_TEST_CASE(a_cohort_is_ascending_distinct_and_drawn_from_the_clients) {
  const auto clients = population(50, 3);
  for (std::uint32_t count = 0; count <= 50; ++count)
    for (std::uint32_t round = 0; round < 5; ++round) {
      const auto cohort = federated::uniform_cohort(clients, count, 1, round);
      BOOST_TEST(cohort.size() == count);
      BOOST_TEST((std::ranges::adjacent_find(cohort, std::greater_equal<>()) == cohort.end()));
      BOOST_TEST(std::ranges::includes(clients, cohort));
    }
  BOOST_TEST(federated::uniform_cohort(clients, 50, 1, 0) == clients);
}

BOOST_AUTO_TEST_CASE(it_is_keyed_by_seed_and_round) {
  const auto clients = population(1000, 1);
  const auto one = federated::uniform_cohort(clients, 20, 1, 3);
  BOOST_TEST(one == federated::uniform_cohort(clients, 20, 1, 3));
  BOOST_TEST((one != federated::uniform_cohort(clients, 20, 2, 3)));
  BOOST_TEST((one != federated::uniform_cohort(clients, 20, 1, 4)));
}

// All 35 sets of 3 out of 7 are equally likely, so every client is, and every pair.
BOOST_AUTO_TEST_CASE(every_set_is_equally_likely) {
  const auto clients = population(7, 1);
  std::map<std::vector<std::uint32_t>, double> seen;
  constexpr std::uint32_t rounds = 35'000;
  for (std::uint32_t round = 0; round < rounds; ++round) ++seen[federated::uniform_cohort(clients, 3, 9, round)];
  BOOST_REQUIRE(seen.size() == 35U);
  double chi_square = 0.0;
  for (const auto& [cohort, count] : seen) chi_square += std::pow(count - rounds / 35.0, 2) / (rounds / 35.0);
  BOOST_TEST(chi_square < 65.2);  // 34 degrees of freedom, p = 0.001
}

// O(count): a draw from 10 million clients, 2,000 times. Visiting the clients would take minutes.
BOOST_AUTO_TEST_CASE(a_draw_does_not_visit_the_population) {
  const auto clients = population(10'000'000, 1);
  std::size_t drawn = 0;
  for (std::uint32_t round = 0; round < 2'000; ++round)
    drawn += federated::uniform_cohort(clients, 10, 2, round).size();
  BOOST_TEST(drawn == 20'000U);
}

BOOST_AUTO_TEST_SUITE_END()
