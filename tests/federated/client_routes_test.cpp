// Through which aggregator every client is reached.
#include "federated/protocol/client_routes.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(directories)

using namespace furlong::federated::protocol;

BOOST_AUTO_TEST_CASE(it_knows_the_way_that_was_told_last) {
  const std::vector<std::uint32_t> training{0, 1, 2, 3};
  client_routes who(6, training);
  const auto a = who.add_aggregator("a:1");
  const auto b = who.add_aggregator("b:1");
  BOOST_TEST(!who.attach(9, {0, 1}));
  BOOST_TEST(!who.attach(a, {0, 6}));
  BOOST_TEST(!who.attach(a, {3, 2}));
  BOOST_TEST(who.attach(a, {0, 5}));
  BOOST_TEST(who.reached() == 4U);
  BOOST_TEST(who.reached(a) == 6U);
  BOOST_TEST(who.gateway_for({0, 5}, "") == "b:1");
  BOOST_TEST(who.gateway_for({0, 5}, "b:1") == "a:1");
  // The node is at a for good; b tells of an earlier session late, and then of its end.
  BOOST_TEST(who.attach(b, {0, 5}));
  BOOST_TEST(who.route(2).value() == b);
  who.detach(b, {0, 5});
  BOOST_TEST(who.route(2).value() == a);
  BOOST_TEST(who.attach(b, {0, 5}));
  who.remove_aggregator(b);
  BOOST_TEST(who.route(2).value() == a);
  BOOST_TEST(who.reached(a) == 6U);
  who.detach(a, {0, 5});
  BOOST_TEST(!who.route(2));
  BOOST_TEST(who.reached() == 0U);
  BOOST_TEST(who.add_aggregator("c:1") == 2U);
}

BOOST_AUTO_TEST_CASE(nodes_that_connect_at_once_are_spread) {
  client_routes who(40, {}, {.with_strayed = 60});
  static_cast<void>(who.add_aggregator("a:1"));
  const auto b = who.add_aggregator("b:1");
  BOOST_TEST(who.gateway_for({0, 9}, "") == "a:1");
  BOOST_TEST(who.gateway_for({10, 15}, "") == "b:1");
  BOOST_TEST(who.gateway_for({16, 19}, "") == "b:1");
  // One that asks again counts once, where it is sent last: ten at a, eleven at b.
  BOOST_TEST(who.gateway_for({16, 20}, "a:1") == "b:1");
  BOOST_TEST(who.gateway_for({21, 24}, "") == "a:1");
  // Attached at b instead of a: ten at a, fifteen at b.
  BOOST_TEST(who.attach(b, {21, 24}));
  BOOST_TEST(who.gateway_for({25, 26}, "") == "a:1");
  // Attached where it was sent: not counted twice.
  BOOST_TEST(who.attach(b, {16, 20}));
  BOOST_TEST(who.gateway_for({27, 31}, "") == "a:1");  // 12 and 15
  BOOST_TEST(who.gateway_for({32, 33}, "") == "b:1");  // 17 and 15
  who.refused({27, 31});
  BOOST_TEST(who.gateway_for({34, 39}, "") == "a:1");  // 12 and 17
  // Those that were sent and did not come count no longer: 0 and 9.
  BOOST_TEST(who.gateway_for({10, 15}, "", 61) == "a:1");
}

BOOST_AUTO_TEST_CASE(it_knows_whose_clients_a_node_takes_over) {
  const std::vector<std::uint32_t> training{0, 1, 2};
  client_routes who(24, training);
  const auto east = who.add_aggregator("");
  const auto west = who.add_aggregator("west:1");
  BOOST_REQUIRE(who.attach(east, {0, 9}, 4711));
  BOOST_REQUIRE(who.attach(west, {10, 19}, 4712));
  BOOST_REQUIRE(who.attach(west, {20, 23}));  // of unknown instance
  BOOST_TEST((who.others_with({5, 12}, 1) == std::vector<node_place>{{east, 4711}, {west, 4712}}));
  BOOST_TEST((who.others_with({0, 9}, 1) == std::vector<node_place>{{east, 4711}}));
  BOOST_TEST(who.others_with({0, 9}, 4711).empty());  // the node itself, at another gateway
  BOOST_TEST(who.others_with({0, 9}, 0).empty());
  BOOST_TEST(who.others_with({20, 23}, 1).empty());
  who.detach(east, {0, 9});
  who.remove_aggregator(west);
  BOOST_TEST(who.others_with({0, 23}, 1).empty());
}

BOOST_AUTO_TEST_CASE(it_knows_how_long_those_that_are_away_are_expected) {
  const std::vector<std::uint32_t> training{0, 1, 2};
  client_routes who(6, training, {5, 600});
  const auto a = who.add_aggregator("a:1");
  const auto b = who.add_aggregator("b:1");
  BOOST_REQUIRE(who.attach(a, {0, 2}, 7));
  BOOST_TEST(who.instance(1) == 7U);
  BOOST_REQUIRE(who.attach(b, {3, 5}));
  const auto unknown = who.instance(4);
  BOOST_TEST(unknown != 0U);
  BOOST_REQUIRE(who.attach(b, {3, 5}));
  BOOST_TEST(who.instance(4) != unknown);  // another one, as far as is known
  who.detach(a, {0, 2}, 100);
  BOOST_TEST(who.expected_until(1) == 105);
  BOOST_TEST(who.instance(1) == 0U);
  who.on_node_seen({0, 2}, 103);
  BOOST_TEST(who.expected_until(1) == 703);
  BOOST_REQUIRE(who.attach(b, {0, 2}, 7));
  BOOST_TEST(who.expected_until(1) == 0);
  who.remove_aggregator(b, 200);
  BOOST_TEST(who.expected_until(1) == 800);
  BOOST_TEST(who.expected_until(4) == 800);
  BOOST_REQUIRE(who.attach(a, {0, 2}, 7));
  who.on_node_seen({0, 2}, 300);
  who.detach(a, {0, 2}, 400);
  BOOST_TEST(who.expected_until(1) == 900);  // what was told late does not count for less
  who.begin(500, 20);
  BOOST_TEST(who.expected_until(1) == 0);
  BOOST_TEST(who.expected_until(4) == 320);  // does not train
  who.begin(320, 10);
  BOOST_TEST(who.expected_until(4) == 0);
  BOOST_REQUIRE(who.attach(a, {0, 2}, 7));
  who.detach(a, {0, 2}, 400, true);
  BOOST_TEST(who.expected_until(1) == 1000);
}

// Else a round would wait for the tasks of a node that never comes.
BOOST_AUTO_TEST_CASE(clients_of_a_refused_node_are_not_expected) {
  const std::vector<std::uint32_t> training{0, 1, 2, 3};
  client_routes who(4, training, {10, 600});
  who.on_node_seen({0, 2}, 100);
  who.on_node_seen({3, 3}, 100);
  who.refused({0, 2});
  for (const std::uint32_t client : {0U, 1U, 2U}) BOOST_TEST(who.expected_until(client) == 0);
  BOOST_TEST(who.expected_until(3) == 700);
}

BOOST_AUTO_TEST_SUITE_END()
