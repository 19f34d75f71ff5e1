// The end of a federation's run.
#include "federated/protocol/run_shutdown.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(end_of_a_run)

namespace {

using furlong::federated::protocol::run_shutdown;
using enum run_shutdown::action;

constexpr furlong::federated::virtual_time patience = 100;

run_shutdown begun() {
  run_shutdown all(patience);
  all.begin(0);
  return all;
}

/// With all clients reached and no other aggregator: only the own gateway is waited for.
run_shutdown at_the_own_gateway() {
  auto all = begun();
  BOOST_TEST((all.next(1, true, 0) == tell_others));
  BOOST_TEST((all.next(1, true, 0) == tell_own_gateway));
  return all;
}

BOOST_AUTO_TEST_CASE(nothing_happens_before_the_run_is_over) {
  run_shutdown all(patience);
  BOOST_TEST((all.next(1000, true, 0) == wait));
}

BOOST_AUTO_TEST_CASE(absent_clients_are_waited_for_before_anybody_is_told) {
  auto all = begun();
  BOOST_TEST((all.next(patience - 1, false, 2) == wait));
  BOOST_TEST(!all.is_announced());
  BOOST_TEST((all.next(patience, false, 2) == tell_others));
  BOOST_TEST(all.is_announced());
}

BOOST_AUTO_TEST_CASE(the_own_gateway_is_told_when_the_other_aggregators_have_ended) {
  auto all = begun();
  BOOST_TEST((all.next(10, true, 2) == tell_others));
  BOOST_TEST((all.next(10, true, 2) == wait));
  BOOST_TEST((all.next(20, true, 1) == wait));
  BOOST_TEST((all.next(30, true, 0) == tell_own_gateway));
}

BOOST_AUTO_TEST_CASE(aggregators_that_do_not_end_are_waited_for_anew_and_no_longer) {
  auto all = begun();
  BOOST_TEST((all.next(10, true, 2) == tell_others));
  BOOST_TEST((all.next(9 + patience, true, 2) == wait));
  BOOST_TEST((all.next(10 + patience, true, 2) == tell_own_gateway));
}

BOOST_AUTO_TEST_CASE(a_node_whose_aggregator_was_lost_is_waited_for_until_it_is_here) {
  auto all = begun();
  BOOST_TEST((all.next(10, true, 1) == tell_others));
  all.on_unconfirmed({3, 5});
  all.on_unconfirmed({6, 6});
  BOOST_TEST((all.next(20, true, 0) == wait));
  all.on_attached({3, 5});
  BOOST_TEST((all.next(21, true, 0) == wait));
  all.on_attached({6, 6});
  BOOST_TEST((all.next(22, true, 0) == tell_own_gateway));
}

BOOST_AUTO_TEST_CASE(an_own_gateway_that_does_not_end_is_given_up) {
  auto all = at_the_own_gateway();
  BOOST_TEST((all.next(patience, true, 0) == wait));
  BOOST_TEST((all.next(patience + 1, true, 0) == end));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
