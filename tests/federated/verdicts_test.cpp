// What the server tells nodes about their updates: acknowledged, taken, declined; and what a checkpoint says.
#include <boost/test/unit_test.hpp>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "tests/federated/routed_server.hpp"

BOOST_AUTO_TEST_SUITE(verdicts_of_the_server)

using namespace furlong;
using namespace furlong::federated::protocol;
using namespace furlong::federated::protocol::testing;
using federated::outcome;
using federated::task_id;

BOOST_AUTO_TEST_CASE(a_task_that_ends_where_its_client_is_not_any_more_is_declined) {
  routed world;
  static_cast<void>(world.attach(1, {0, 9}, {world.task(3), world.task(4)}));
  const auto declined = only<decline>(world.settle(0, 3, outcome::dropped));
  BOOST_TEST((declined.tasks == std::vector{world.task(3)}));
  // A gateway may be lost before it can tell of a rejection: it is the server that tells the node.
  for (const std::uint32_t client : {4U, 12U}) {
    const auto refused = only<decline>(world.settle(client == 4 ? 0 : 1, client, outcome::rejected));
    BOOST_TEST(refused.why.has_value());
  }
  BOOST_TEST(all<decline>(world.settle(1, 13, outcome::late)).empty());  // told by the gateway itself
}

BOOST_AUTO_TEST_CASE(updates_are_acknowledged_when_a_checkpoint_has_them) {
  routed world;
  BOOST_TEST(all<acknowledge>(world.finish_round()).empty());
  const auto held = world.server.state().version - 1;
  const task_id first{world.e.run, held, 3, 0};
  world.begin();
  const auto told = world.attach(0, {0, 9}, {first, world.task(3)});
  BOOST_TEST(all<acknowledge>(told).empty());
  BOOST_TEST(all<decline>(told).empty());  // it will hear
  const auto closed = world.finish_round();
  BOOST_TEST(all<checkpoint>(closed).size() == 1U);
  const auto durable = only<acknowledge>(world.server.on_checkpointed());
  BOOST_TEST(durable.tasks.size() == 34U);
  // A client that missed it hears when it is there again: of the last update, that it is durable.
  const auto later = world.attach(0, {0, 9}, {first, {world.e.run, held + 1, 3, 0}});
  BOOST_TEST((only<acknowledge>(later).tasks == std::vector<task_id>{{world.e.run, held + 1, 3, 0}}));
  BOOST_TEST((only<decline>(later).tasks == std::vector{first}));
}

// Nodes hold what no checkpoint has, and list it when they come back.
BOOST_AUTO_TEST_CASE(a_run_without_checkpoints_makes_one_before_nodes_hold_too_much) {
  auto settings = settings_of_two();
  settings.rounds = 2000;
  settings.checkpoint_every = 0;
  routed world(settings);
  std::size_t rounds = 1;
  while (rounds < 2000 && all<checkpoint>(world.finish_round()).empty()) {
    world.begin();
    ++rounds;
  }
  BOOST_TEST(rounds == (16'384U + 16) / 17);
  BOOST_TEST(only<acknowledge>(world.server.on_checkpointed()).tasks.size() == rounds * 17);
}

BOOST_AUTO_TEST_CASE(clients_that_wait_for_it_hear_at_once_that_a_model_has_their_updates) {
  auto settings = settings_of_two();
  *settings.algorithm = federated::chosen_algorithm("furl");
  BOOST_TEST(all<taken>(routed(settings).finish_round()).empty());
  settings.own->commit = federated::commit_kind::after_ack;
  routed world(settings);
  const auto first = world.task(3);
  const auto told = only<taken>(world.finish_round());
  BOOST_TEST(told.version == 0U);
  BOOST_TEST(told.tasks.size() == 17U);
  world.begin();
  const auto second = world.task(4);
  static_cast<void>(world.finish_round());
  // A client that missed it hears when it is there again, as long as no checkpoint has it.
  const auto again = all<taken>(world.attach(0, {0, 9}, {first, second}));
  BOOST_REQUIRE(again.size() == 2U);
  BOOST_TEST((again[0].version == 0U && again[0].tasks == std::vector{first}));
  BOOST_TEST((again[1].version == 1U && again[1].tasks == std::vector{second}));
  BOOST_TEST(only<acknowledge>(world.server.on_checkpointed()).tasks.size() == 34U);
  BOOST_TEST(all<taken>(world.attach(0, {0, 9}, {second})).empty());
}

// An update in a durable checkpoint is not called unwanted as long as a later one of its client may still be lost.
BOOST_AUTO_TEST_CASE(an_earlier_update_is_not_declined_before_the_later_one_is_durable) {
  routed world;
  static_cast<void>(world.finish_round());
  world.begin();
  static_cast<void>(world.finish_round());
  static_cast<void>(world.server.on_checkpointed());  // of version 2
  world.begin();
  static_cast<void>(world.finish_round());  // version 3 is in no checkpoint
  const task_id durable{world.e.run, 1, 3, 0};
  const auto told = world.attach(0, {0, 9}, {durable, {world.e.run, 2, 3, 0}});
  BOOST_TEST(all<decline>(told).empty());
  BOOST_TEST(all<acknowledge>(told).empty());
  world.begin();
  static_cast<void>(world.finish_round());
  const auto after = world.server.on_checkpointed();
  BOOST_TEST((only<decline>(after).tasks == std::vector{durable}));
}

// However many tasks a node makes up, and however often it says hello.
BOOST_AUTO_TEST_CASE(what_a_node_claims_to_hold_does_not_pile_up) {
  routed world;
  static_cast<void>(world.finish_round());
  world.begin();
  static_cast<void>(world.finish_round());
  static_cast<void>(world.server.on_checkpointed());
  world.begin();
  static_cast<void>(world.finish_round());  // client 3 has an update in no checkpoint
  std::vector<task_id> last;
  for (std::uint32_t hello = 0; hello < 1000; ++hello) {
    last.clear();
    for (std::uint32_t i = 0; i < 1000; ++i) last.push_back({world.e.run, 0, 3, 1000 * hello + i});
    static_cast<void>(world.attach(0, {0, 9}, last));
  }
  world.begin();
  static_cast<void>(world.finish_round());
  const auto declined = only<decline>(world.server.on_checkpointed());
  BOOST_TEST(declined.tasks.size() == 64U);
  BOOST_TEST((declined.tasks.back() == last.back()));
}

// No round has reported such an end, and a resumed run begins its books where the last report left them.
BOOST_AUTO_TEST_CASE(what_ended_since_the_last_round_is_open_in_a_checkpoint) {
  auto settings = settings_of_two();
  settings.evaluation->every = 1;
  settings.participation->deadline = 10;
  routed world(settings);
  const auto task = world.task(9);
  static_cast<void>(world.report_all(9));
  server_effects last;
  for (const auto& one : all<close_share>(world.server.on_timer({timer_kind::deadline, 0, 10 * second}, 10 * second)))
    last = world.close(one);
  BOOST_REQUIRE(all<evaluate>(last).size() == 1U);
  BOOST_TEST(only<round_closed>(last).report.in_flight == 1U);
  federated::settlement late;
  late.id = task;
  late.what = outcome::late;
  static_cast<void>(world.server.on_settled(0, {late}, 10 * second));
  BOOST_TEST(world.server.in_flight() == 0U);
  BOOST_TEST(world.server.state().counts.late == 1U);

  const auto saved = world.server.snapshot();
  BOOST_TEST(saved.counts.late == 0U);
  BOOST_TEST(saved.counts.in_flight() == 1U);
  BOOST_REQUIRE(saved.open.size() == 1U);
  BOOST_TEST((saved.open[0].id == task));
  BOOST_TEST(saved.started_from.contains(0));
}

BOOST_AUTO_TEST_SUITE_END()
