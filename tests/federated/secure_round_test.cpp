// Clients that wait for a masked sum, and a round that has none. Whole sums: secure_rounds_test.cpp.
#include "federated/protocol/secure_round.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/privacy/secure_aggregation/secure_server.hpp"

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct idle_sum : secure_round {
  static task_id task(std::uint32_t client) { return {1, 4, client, 0}; }
  static privacy::secure_letter keys_of(std::uint32_t client, std::uint8_t content = 1) {
    return {task(client), privacy::secure_step::keys, {content}};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rounds_without_a_sum, idle_sum)

BOOST_AUTO_TEST_CASE(clients_wait_in_the_order_of_their_first_keys) {
  add_waiting(keys_of(5));
  add_waiting(keys_of(3));
  add_waiting(keys_of(5, 2));  // by another process of its node
  add_waiting(keys_of(4));
  BOOST_TEST(waiting() == 3U);
  const auto keys = take_waiting(2);
  BOOST_REQUIRE(keys.size() == 2U);
  BOOST_TEST((keys[0] == keys_of(5, 2)));
  BOOST_TEST((keys[1] == keys_of(3)));
  BOOST_TEST(waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(a_client_that_left_does_not_wait) {
  add_waiting(keys_of(5));
  leave(task(5));
  BOOST_TEST(waiting() == 0U);
}

BOOST_AUTO_TEST_CASE(keys_that_are_too_long_exclude_a_client) {
  auto keys = keys_of(5);
  keys.content.resize(privacy::longest_keys + 1);
  for (int time = 0; time < 2; ++time) add_waiting(keys);
  BOOST_TEST(waiting() == 0U);
  BOOST_TEST((excluded() == std::vector{task(5)}));
}

BOOST_AUTO_TEST_CASE(clients_wait_from_round_to_round_and_are_excluded_in_one) {
  add_waiting(keys_of(5));
  exclude(task(6));
  reset();
  BOOST_TEST(waiting() == 1U);
  BOOST_TEST(!is_excluded(task(6)));
}

BOOST_AUTO_TEST_CASE(nothing_comes_of_a_round_without_a_sum) {
  BOOST_TEST(!is_begun());
  BOOST_TEST(receive(keys_of(5)));
  BOOST_TEST(take_letters().empty());
  BOOST_TEST(stop_waiting().empty());
  BOOST_TEST(!has(task(5)));
  BOOST_TEST(!has_all(0));
  BOOST_TEST(!has_failed());
  BOOST_TEST(!is_masked());
  BOOST_TEST(!end_unmasking());
  BOOST_TEST(removal() == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
