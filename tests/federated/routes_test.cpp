// The server where clients are reached through aggregators that come and go, one event at a time.
#include <boost/test/unit_test.hpp>

#include "tests/federated/routed_server.hpp"

BOOST_AUTO_TEST_SUITE(routes)

using namespace furlong;
using namespace furlong::federated::protocol;
using namespace furlong::federated::protocol::testing;
using federated::outcome;
using federated::task_id;

BOOST_AUTO_TEST_CASE(a_task_follows_its_client) {
  routed world;
  const auto moved = all<withdraw>(world.attach(1, {0, 9}, {world.task(3)}));
  BOOST_REQUIRE(moved.size() == 10U);
  BOOST_TEST(moved[3].aggregator == 0U);
  const auto again = world.server.on_withdrawn(0, {world.task(3), world.task(4)}, 0);
  const auto given = only<assign>(again);
  BOOST_TEST(given.aggregator == 1U);
  BOOST_TEST(!given.begins);
  BOOST_TEST((given.tasks == std::vector{world.task(3)}));
  BOOST_TEST(world.server.state().counts.dropped[1] == 1U);  // task 4: its client does not hold it
}

BOOST_AUTO_TEST_CASE(an_aggregator_ends_its_own_tasks_only) {
  routed world;
  static_cast<void>(world.settle(1, 3, outcome::late));  // task 3 is with aggregator 0
  BOOST_TEST(world.server.in_flight() == 17U);
  static_cast<void>(world.settle(0, 3, outcome::late));
  BOOST_TEST(world.server.in_flight() == 16U);
}

BOOST_AUTO_TEST_CASE(what_an_aggregator_folded_is_lost_with_it_and_given_out_again) {
  routed world;
  static_cast<void>(world.report(0, 3));
  static_cast<void>(world.report(0, 4));
  BOOST_TEST(world.server.folding() == 2U);
  world.who.remove_aggregator(0);
  const auto lost = world.server.on_aggregator_lost(0, second);
  BOOST_TEST(world.server.folding() == 0U);
  BOOST_TEST(world.server.in_flight() == 17U);
  BOOST_REQUIRE(all<timer>(lost).size() == 1U);
  const auto given = only<assign>(world.attach(1, {0, 4}, {world.task(3)}, 2 * second));
  BOOST_TEST((given.tasks == std::vector{world.task(3)}));
  static_cast<void>(world.server.on_timer(all<timer>(lost)[0], second + patience));
  BOOST_TEST(world.server.in_flight() == 8U);  // of aggregator 1, and task 3; nobody waits for the others
}

BOOST_AUTO_TEST_CASE(what_an_aggregator_lost_below_it_is_given_out_again_and_its_partial_comes_without_it) {
  routed world;
  static_cast<void>(world.report(0, 3));
  static_cast<void>(world.report(0, 4));
  const auto examples = world.server.state().counts.examples;
  world.who.detach(0, {0, 9}, second, true);
  const auto lost = world.server.on_tasks_lost(0, {{world.task(3), world.task(12)}, {world.task(5)}}, second);
  BOOST_TEST(world.server.folding() == 1U);  // task 4; task 12 is not aggregator 0's to lose
  BOOST_TEST(world.server.in_flight() == 16U);
  BOOST_TEST(world.server.state().counts.examples < examples);
  BOOST_TEST(all<timer>(lost).size() == 1U);
  const auto given = all<assign>(world.attach(1, {3, 5}, {world.task(3), world.task(5)}, 2 * second));
  BOOST_REQUIRE(given.size() == 2U);
  BOOST_TEST(given[0].aggregator == 1U);
  // Again, and of what it does not have any more.
  static_cast<void>(world.server.on_tasks_lost(0, {{world.task(3)}, {world.task(5)}}, second));
  BOOST_TEST(world.server.in_flight() == 16U);
}

// The share may be closing: then the round goes on, and the aggregator that the client comes to has another share.
BOOST_AUTO_TEST_CASE(what_is_lost_while_the_share_closes_is_given_out_again) {
  routed world;
  auto last = world.report_all();
  const auto closing = all<close_share>(last);
  BOOST_REQUIRE(closing.size() == 2U);
  world.who.remove_aggregator(0, second);
  BOOST_TEST(all<round_closed>(world.server.on_aggregator_lost(0, second)).empty());
  BOOST_TEST(world.server.folding() == 7U);
  BOOST_TEST(world.server.in_flight() == 10U);
  std::vector<task_id> held;
  for (std::uint32_t client = 0; client < 10; ++client) held.push_back(world.task(client));
  // Not before its first share is merged.
  BOOST_TEST(all<assign>(world.attach(1, {0, 9}, held, 2 * second)).empty());
  const auto given = all<assign>(world.close(closing[1]));
  BOOST_REQUIRE(given.size() == 10U);
  BOOST_TEST(given[0].aggregator == 1U);
  BOOST_TEST(given[0].begins);
  BOOST_TEST(!given[1].begins);
  for (const auto& share : given) world.give(share);
  for (std::uint32_t client = 0; client < 10; ++client) last = world.report(1, client);
  const auto again = only<close_share>(last);
  const auto closed = only<round_closed>(world.close(again));
  BOOST_TEST(closed.report.folded == 17U);
  BOOST_TEST(world.server.state().counts.folded == 17U);
}

// A deadline stands, whatever is lost after it.
BOOST_AUTO_TEST_CASE(what_is_lost_while_a_round_with_a_deadline_closes_is_late) {
  auto settings = settings_of_two();
  settings.participation->deadline = 10;
  routed world(settings);
  BOOST_TEST(all<close_share>(world.report_all()).size() == 2U);
  world.who.detach(0, {0, 9}, second, true);
  static_cast<void>(world.server.on_tasks_lost(0, {{world.task(3)}, {}}, second));
  BOOST_TEST(world.server.folding() == 16U);
  static_cast<void>(world.attach(1, {3, 3}, {world.task(3)}, 2 * second));
  BOOST_TEST(world.server.state().counts.late == 1U);
  BOOST_TEST(world.server.in_flight() == 0U);
}

// No partial will have it.
BOOST_AUTO_TEST_CASE(an_update_that_was_aggregated_outside_of_a_share_does_not_count) {
  auto settings = settings_of_two();
  settings.participation->deadline = 10;
  routed world(settings);
  federated::settlement claim;
  claim.id = world.task(3);
  claim.what = outcome::folded;
  static_cast<void>(world.report_all(3));
  const auto closing = world.server.on_timer({timer_kind::deadline, 0, 10 * second}, 10 * second);
  for (const auto& share : all<close_share>(closing)) static_cast<void>(world.close(share));
  BOOST_REQUIRE(world.server.state().counts.folded == 16U);
  static_cast<void>(world.server.on_settled(0, {claim}, 11 * second));
  BOOST_TEST(world.server.folding() == 0U);
  BOOST_TEST(world.server.in_flight() == 1U);
  claim.what = outcome::late;
  static_cast<void>(world.server.on_settled(0, {claim}, 11 * second));
  BOOST_TEST(world.server.in_flight() == 0U);
}

// Tasks are lost with the process that they were given to, and not with an aggregator on the way.
BOOST_AUTO_TEST_CASE(a_task_that_never_reached_its_node_is_given_to_it_again) {
  constexpr std::uint64_t node = 4711;
  constexpr std::uint64_t other = 4712;
  for (const auto comes_back : {node, other}) {
    unreached world(settings_of_two(), {patience, 600 * second});
    auto& [e, who, server] = world;
    const auto first = who.add_aggregator("");
    BOOST_REQUIRE(who.attach(first, {0, 23}, node));
    BOOST_TEST(only<assign>(server.on_proceed()).tasks.size() == 17U);
    who.remove_aggregator(first, second);
    const auto waits = only<timer>(server.on_aggregator_lost(first, second));
    static_cast<void>(server.on_timer(waits, second + patience));
    BOOST_TEST(server.in_flight() == 17U);  // nobody said that the node is gone
    const auto next = who.add_aggregator("");
    BOOST_REQUIRE(who.attach(next, {0, 23}, comes_back));
    const auto given = all<assign>(server.on_attached(next, 0, 23, {}, 100 * second));
    BOOST_TEST(given.size() == (comes_back == node ? 17U : 0U));
    BOOST_TEST(server.state().counts.dropped[1] == (comes_back == node ? 0U : 17U));
  }
}

// A round that waits for every task has the cohort that it would have if no aggregator were lost.
BOOST_AUTO_TEST_CASE(clients_whose_aggregator_was_lost_are_chosen_and_waited_for) {
  unreached world(settings_of_two(), {patience, 600 * second});
  auto& [e, who, server] = world;
  const auto first = who.add_aggregator("");
  BOOST_REQUIRE(who.attach(first, {0, 23}, 4711));
  who.remove_aggregator(first, second);
  BOOST_TEST(all<assign>(server.on_proceed(second)).empty());
  BOOST_TEST(server.in_flight() == 17U);
  // Until it is clear that the node is lost, too.
  static_cast<void>(server.on_timer({timer_kind::orphaned, 0, 600 * second}, 600 * second));
  BOOST_TEST(server.in_flight() == 17U);
  static_cast<void>(server.on_timer({timer_kind::orphaned, 0, 601 * second}, 601 * second));
  BOOST_TEST(server.state().counts.dropped[0] == 17U);
}

// What an earlier task of a client left behind is no reason not to withdraw the next one.
BOOST_AUTO_TEST_CASE(a_folded_task_of_a_client_that_moved_does_not_hide_the_next) {
  routed world;
  static_cast<void>(world.report_all(9));
  static_cast<void>(world.attach(1, {3, 3}, {world.task(3)}));  // folded at 0, and held at 1
  for (const auto& one : all<close_share>(world.report(0, 9))) static_cast<void>(world.close(one));
  world.begin();
  static_cast<void>(world.attach(0, {3, 3}, {world.task(3)}));
  const auto moved = all<withdraw>(world.attach(0, {3, 3}, {world.task(3)}));
  BOOST_TEST(moved.empty());  // once is enough
  BOOST_TEST(all<assign>(world.server.on_withdrawn(1, {world.task(3)}, 0)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_server_that_waits_for_clients_looks_when_some_come) {
  unreached world;
  auto& [e, who, server] = world;
  const auto number = who.add_aggregator("");
  const auto first = only<timer>(server.on_proceed());
  BOOST_REQUIRE(who.attach(number, {0, 23}));
  BOOST_TEST(all<assign>(server.on_attached(number, 0, 23, {}, second)).size() == 1U);
  BOOST_TEST(server.on_timer(first, first.at).empty());  // void now
  BOOST_TEST(server.in_flight() == 17U);
}

BOOST_AUTO_TEST_CASE(a_server_that_waits_for_clients_stops_when_it_is_asked_to) {
  unreached world;
  auto& [e, who, server] = world;
  const auto waits = all<timer>(server.on_proceed());
  BOOST_TEST(all<checkpoint>(server.on_stop(second)).size() == 1U);
  BOOST_TEST(server.on_timer(waits.at(0), waits[0].at).empty());
  BOOST_TEST(only<finish>(server.on_checkpointed()).interrupted);
}

BOOST_AUTO_TEST_CASE(an_asynchronous_server_stops_when_everybody_at_work_is_gone) {
  auto settings = settings_of_two();
  settings.participation->mode = federated::participation_mode::async;
  settings.participation->buffer = settings.participation->concurrency = 4;
  for (const bool asked_first : {true, false}) {
    routed world(settings);
    if (asked_first) BOOST_TEST(world.server.on_stop(0).empty());  // the round goes on
    for (const std::uint32_t aggregator : {0U, 1U}) {
      world.who.remove_aggregator(aggregator);
      static_cast<void>(world.server.on_aggregator_lost(aggregator, 0));
    }
    const auto dropped = world.server.on_timer({timer_kind::orphaned, 0, patience}, patience);
    BOOST_TEST(world.server.in_flight() == 0U);
    const auto ends = asked_first ? dropped : world.server.on_stop(patience);
    BOOST_TEST(all<round_closed>(ends).size() == 1U);
    BOOST_TEST(all<checkpoint>(ends).size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(the_time_that_a_checkpoint_takes_is_not_taken_from_the_next_rounds_deadline) {
  auto settings = settings_of_two();
  settings.participation->deadline = 10;
  unreached world(settings);
  auto& [e, who, server] = world;
  BOOST_REQUIRE(who.attach(who.add_aggregator(""), {0, 23}));
  const auto set = only<timer>(server.on_proceed(100 * second));
  BOOST_TEST(set.at == 110 * second);
}

BOOST_AUTO_TEST_SUITE_END()
