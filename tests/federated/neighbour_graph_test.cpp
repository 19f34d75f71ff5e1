#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/federated/seeded_source.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(secure_aggregation)

BOOST_AUTO_TEST_CASE(parameters_are_those_of_the_paper) {
  const auto check = [](std::uint32_t clients, adversary_kind against, std::uint32_t degree, std::uint32_t threshold) {
    const auto found = parameters_for(clients, against);
    BOOST_TEST(found.degree == degree);
    BOOST_TEST(found.threshold == threshold);
    BOOST_TEST(found.survivors == clients - clients / 3);
  };
  using enum adversary_kind;
  check(100, semi_honest, 28, 6);
  check(1'000, semi_honest, 72, 24);
  check(1'200, semi_honest, 86, 29);
  check(10'000, semi_honest, 86, 29);
  check(1'000'000, semi_honest, 102, 34);
  check(1'000, semi_malicious, 398, 223);
  check(10'000, semi_malicious, 746, 420);
  check(20, semi_honest, 19, 10);
  check(100, semi_malicious, 99, 56);
  for (std::uint32_t n = 3; n < 2'000; ++n)
    for (const auto against : {semi_honest, semi_malicious}) {
      const auto found = parameters_for(n, against);
      BOOST_TEST_REQUIRE(found.threshold <= found.degree);
      BOOST_TEST_REQUIRE(found.survivors <= n);
      BOOST_TEST_REQUIRE(found.degree % 2 * (found.degree + 1 < n ? 1U : 0U) == 0U);
      if (against == semi_malicious) BOOST_TEST_REQUIRE(2 * found.threshold > found.degree);
    }
}

BOOST_AUTO_TEST_CASE(a_graph_is_regular_and_symmetric) {
  for (const auto& [n, k] : {std::pair(5U, 4U), std::pair(40U, 28U), std::pair(300U, 72U)}) {
    const auto graph = draw_graph(n, k, seeded(n));
    for (std::uint32_t i = 0; i < n; ++i) {
      BOOST_TEST(graph[i].size() == k);
      BOOST_TEST((std::ranges::adjacent_find(graph[i]) == graph[i].end()));
      for (const auto j : graph[i]) BOOST_TEST(std::ranges::binary_search(graph[j], i));
    }
  }
  BOOST_TEST((draw_graph(300, 72, seeded(1)) != draw_graph(300, 72, seeded(2))));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
