// The server where clients are reached through aggregators that come and go, one event at a time.
#include <boost/test/unit_test.hpp>

#include "federated/algorithm_traits.hpp"
#include "federated/protocol/client_routes.hpp"
#include "federated/protocol/gateway_machine.hpp"
#include "federated/round.hpp"
#include "federated/settings.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(routes)

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::outcome;
using federated::task_id;

namespace {

constexpr federated::virtual_time second = federated::microseconds_per_second;
constexpr federated::virtual_time patience = 5 * second;

federated::run_settings settings_of_two() {
  federated::run_settings settings;
  settings.rounds = 5;
  settings.participation->per_round = 17;  // all
  settings.checkpoint_every = 2;
  return settings;
}

template <class Effect>
std::vector<Effect> all(const server_effects& effects) {
  std::vector<Effect> found;
  for (const auto& effect : effects)
    if (const auto* one = std::get_if<Effect>(&effect)) found.push_back(*one);
  return found;
}

/// A server with aggregators 0 (clients 0 to 9) and 1 (10 to 23), and a round under way on all 17 that train.
struct routed {
  federated::experiment e;
  client_routes who{24, e.participants->training()};
  server_machine server{e, federated::initial_state(e), &who};
  std::map<std::uint32_t, gateway_machine> gateways;  ///< what would be folded there

  explicit routed(const federated::run_settings& settings = settings_of_two())
      : e(tests::make_experiment(settings, tests::make_ratings(12), {}, {})) {
    for (const client_range clients : {client_range{0, 9}, client_range{10, 23}}) {
      const auto number = who.add_aggregator("");
      BOOST_REQUIRE(who.attach(number, clients));
    }
    static_cast<void>(server.start());
    begin();
  }
  void begin() {
    gateways.clear();
    for (const auto& share : all<assign>(server.on_proceed())) give(share);
  }
  void give(const assign& share) {
    gateway_effects out;
    auto [at, fresh] = gateways.try_emplace(share.aggregator, e, share.aggregator);
    if (fresh) at->second.on_hello(1, {"test", {0, 23}, 0, {}, ""}, 0, out);
    at->second.on_assignment(share.from, share.tasks, share.begins, 0, out);
  }
  [[nodiscard]] task_id task(std::uint32_t client) const { return {e.run, server.state().version, client, 0}; }
  server_effects attach(std::uint32_t aggregator, client_range clients, const std::vector<task_id>& holding,
                        federated::virtual_time now = 0) {
    BOOST_REQUIRE(who.attach(aggregator, clients));
    return server.on_attached(aggregator, clients.first, clients.last, holding, now);
  }
  server_effects report(std::uint32_t aggregator, std::uint32_t client) {
    random_stream stream(client, purpose::test);
    auto update = tests::random_update(stream, e.parts.shared);
    update.id = task(client);
    gateway_effects out;
    gateways.at(aggregator).on_update(1, update, 0, out);
    return server.on_settled(aggregator, std::get<settled>(std::get<tell_parent>(out.at(0)).content).each, 0);
  }
  server_effects settle(std::uint32_t aggregator, std::uint32_t client, outcome what) {
    federated::settlement one;
    one.id = task(client);
    one.what = what;
    return server.on_settled(aggregator, {one}, 0);
  }
  server_effects close(const close_share& what) {
    gateway_effects out;
    gateways.at(what.aggregator).on_close(what.version, what.enough, 0, out);
    return server.on_partial(std::get<federated::partial_aggregate>(std::get<tell_parent>(out.at(0)).content), 0)
        .value();
  }
  /// Everybody reports, and the round closes.
  server_effects finish_round() {
    server_effects last;
    for (std::uint32_t client = 0; client < 17; ++client) last = report(client < 10 ? 0 : 1, client);
    for (const auto& one : all<close_share>(last)) last = close(one);
    return last;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_task_follows_its_client) {
  routed world;
  const auto moved = all<withdraw>(world.attach(1, {0, 9}, {world.task(3)}));
  BOOST_REQUIRE(moved.size() == 10U);
  BOOST_TEST(moved[3].aggregator == 0U);
  const auto again = world.server.on_withdrawn(0, {world.task(3), world.task(4)}, 0);
  const auto given = all<assign>(again);
  BOOST_REQUIRE(given.size() == 1U);
  BOOST_TEST(given[0].aggregator == 1U);
  BOOST_TEST(!given[0].begins);
  BOOST_TEST((given[0].tasks == std::vector{world.task(3)}));
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
  const auto given = all<assign>(world.attach(1, {0, 4}, {world.task(3)}, 2 * second));
  BOOST_REQUIRE(given.size() == 1U);
  BOOST_TEST((given[0].tasks == std::vector{world.task(3)}));
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
  server_effects last;
  for (std::uint32_t client = 0; client < 17; ++client) last = world.report(client < 10 ? 0 : 1, client);
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
  const auto again = all<close_share>(last);
  BOOST_REQUIRE(again.size() == 1U);
  const auto closed = all<round_closed>(world.close(again[0]));
  BOOST_REQUIRE(closed.size() == 1U);
  BOOST_TEST(closed[0].report.folded == 17U);
  BOOST_TEST(world.server.state().counts.folded == 17U);
}

// A deadline stands, whatever is lost after it.
BOOST_AUTO_TEST_CASE(what_is_lost_while_a_round_with_a_deadline_closes_is_late) {
  auto settings = settings_of_two();
  settings.participation->deadline = 10;
  routed world(settings);
  server_effects last;
  for (std::uint32_t client = 0; client < 17; ++client) last = world.report(client < 10 ? 0 : 1, client);
  BOOST_TEST(all<close_share>(last).size() == 2U);
  world.who.detach(0, {0, 9}, second, true);
  static_cast<void>(world.server.on_tasks_lost(0, {{world.task(3)}, {}}, second));
  BOOST_TEST(world.server.folding() == 16U);
  static_cast<void>(world.attach(1, {3, 3}, {world.task(3)}, 2 * second));
  BOOST_TEST(world.server.state().counts.late == 1U);
  BOOST_TEST(world.server.in_flight() == 0U);
}

// Tasks are lost with the process that they were given to, and not with an aggregator on the way.
BOOST_AUTO_TEST_CASE(a_task_that_never_reached_its_node_is_given_to_it_again) {
  const auto e = tests::make_experiment(settings_of_two(), tests::make_ratings(12), {}, {});
  constexpr std::uint64_t node = 4711;
  constexpr std::uint64_t other = 4712;
  for (const auto comes_back : {node, other}) {
    client_routes who(24, e.participants->training(), {patience, 600 * second});
    server_machine server(e, federated::initial_state(e), &who);
    static_cast<void>(server.start());
    const auto first = who.add_aggregator("");
    BOOST_REQUIRE(who.attach(first, {0, 23}, node));
    BOOST_TEST(all<assign>(server.on_proceed()).at(0).tasks.size() == 17U);
    who.remove_aggregator(first, second);
    const auto waits = all<timer>(server.on_aggregator_lost(first, second));
    BOOST_REQUIRE(waits.size() == 1U);
    static_cast<void>(server.on_timer(waits[0], second + patience));
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
  const auto e = tests::make_experiment(settings_of_two(), tests::make_ratings(12), {}, {});
  client_routes who(24, e.participants->training(), {patience, 600 * second});
  server_machine server(e, federated::initial_state(e), &who);
  static_cast<void>(server.start());
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

BOOST_AUTO_TEST_CASE(a_task_that_ends_where_its_client_is_not_any_more_is_declined) {
  routed world;
  static_cast<void>(world.attach(1, {0, 9}, {world.task(3), world.task(4)}));
  const auto declined = all<decline>(world.settle(0, 3, outcome::dropped));
  BOOST_REQUIRE(declined.size() == 1U);
  BOOST_TEST((declined[0].tasks == std::vector{world.task(3)}));
  // A gateway may be lost before it can tell of a rejection: it is the server that tells the node.
  for (const std::uint32_t client : {4U, 12U}) {
    const auto refused = all<decline>(world.settle(client == 4 ? 0 : 1, client, outcome::rejected));
    BOOST_REQUIRE(refused.size() == 1U);
    BOOST_TEST(refused[0].why.has_value());
  }
  BOOST_TEST(all<decline>(world.settle(1, 13, outcome::late)).empty());  // told by the gateway itself
}

// What an earlier task of a client left behind is no reason not to withdraw the next one.
BOOST_AUTO_TEST_CASE(a_folded_task_of_a_client_that_moved_does_not_hide_the_next) {
  routed world;
  for (std::uint32_t client = 0; client < 17; ++client)
    if (client != 9) static_cast<void>(world.report(client < 10 ? 0 : 1, client));
  static_cast<void>(world.attach(1, {3, 3}, {world.task(3)}));  // folded at 0, and held at 1
  for (const auto& one : all<close_share>(world.report(0, 9))) static_cast<void>(world.close(one));
  world.begin();
  static_cast<void>(world.attach(0, {3, 3}, {world.task(3)}));
  const auto moved = all<withdraw>(world.attach(0, {3, 3}, {world.task(3)}));
  BOOST_TEST(moved.empty());  // once is enough
  BOOST_TEST(all<assign>(world.server.on_withdrawn(1, {world.task(3)}, 0)).size() == 1U);
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
  const auto durable = all<acknowledge>(world.server.on_checkpointed());
  BOOST_REQUIRE(durable.size() == 1U);
  BOOST_TEST(durable[0].tasks.size() == 34U);
  // A client that missed it hears when it is there again: of the last update, that it is durable.
  const auto later = world.attach(0, {0, 9}, {first, {world.e.run, held + 1, 3, 0}});
  BOOST_TEST((all<acknowledge>(later).at(0).tasks == std::vector<task_id>{{world.e.run, held + 1, 3, 0}}));
  BOOST_TEST((all<decline>(later).at(0).tasks == std::vector{first}));
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
  BOOST_TEST(all<acknowledge>(world.server.on_checkpointed()).at(0).tasks.size() == rounds * 17);
}

BOOST_AUTO_TEST_CASE(clients_that_wait_for_it_hear_at_once_that_a_model_has_their_updates) {
  auto settings = settings_of_two();
  *settings.algorithm = federated::chosen_algorithm("furl");
  BOOST_TEST(all<taken>(routed(settings).finish_round()).empty());
  settings.own->commit = federated::commit_kind::after_ack;
  routed world(settings);
  const auto first = world.task(3);
  const auto told = all<taken>(world.finish_round());
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST(told[0].version == 0U);
  BOOST_TEST(told[0].tasks.size() == 17U);
  world.begin();
  const auto second = world.task(4);
  static_cast<void>(world.finish_round());
  // A client that missed it hears when it is there again, as long as no checkpoint has it.
  const auto again = all<taken>(world.attach(0, {0, 9}, {first, second}));
  BOOST_REQUIRE(again.size() == 2U);
  BOOST_TEST((again[0].version == 0U && again[0].tasks == std::vector{first}));
  BOOST_TEST((again[1].version == 1U && again[1].tasks == std::vector{second}));
  BOOST_TEST(all<acknowledge>(world.server.on_checkpointed()).at(0).tasks.size() == 34U);
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
  BOOST_TEST((all<decline>(after).at(0).tasks == std::vector{durable}));
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
  const auto declined = all<decline>(world.server.on_checkpointed());
  BOOST_REQUIRE(declined.size() == 1U);
  BOOST_TEST(declined[0].tasks.size() == 64U);
  BOOST_TEST((declined[0].tasks.back() == last.back()));
}

// No round has reported such an end, and a resumed run begins its books where the last report left them.
BOOST_AUTO_TEST_CASE(what_ended_since_the_last_round_is_open_in_a_checkpoint) {
  auto settings = settings_of_two();
  settings.evaluation->every = 1;
  settings.participation->deadline = 10;
  routed world(settings);
  const auto task = world.task(9);
  for (std::uint32_t client = 0; client < 17; ++client)
    if (client != 9) static_cast<void>(world.report(client < 10 ? 0 : 1, client));
  server_effects last;
  for (const auto& one : all<close_share>(world.server.on_timer({timer_kind::deadline, 0, 10 * second}, 10 * second)))
    last = world.close(one);
  BOOST_REQUIRE(all<evaluate>(last).size() == 1U);
  BOOST_TEST(all<round_closed>(last).at(0).report.in_flight == 1U);
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

BOOST_AUTO_TEST_CASE(a_server_that_waits_for_clients_looks_when_some_come) {
  const auto e = tests::make_experiment(settings_of_two(), tests::make_ratings(12), {}, {});
  client_routes who(24, e.participants->training());
  server_machine server(e, federated::initial_state(e), &who);
  static_cast<void>(server.start());
  const auto number = who.add_aggregator("");
  const auto first = all<timer>(server.on_proceed());
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_REQUIRE(who.attach(number, {0, 23}));
  BOOST_TEST(all<assign>(server.on_attached(number, 0, 23, {}, second)).size() == 1U);
  BOOST_TEST(server.on_timer(first[0], first[0].at).empty());  // void now
  BOOST_TEST(server.in_flight() == 17U);
}

BOOST_AUTO_TEST_CASE(a_server_that_waits_for_clients_stops_when_it_is_asked_to) {
  const auto e = tests::make_experiment(settings_of_two(), tests::make_ratings(12), {}, {});
  client_routes who(24, e.participants->training());
  server_machine server(e, federated::initial_state(e), &who);
  static_cast<void>(server.start());
  const auto waits = all<timer>(server.on_proceed());
  BOOST_TEST(all<checkpoint>(server.on_stop(second)).size() == 1U);
  BOOST_TEST(server.on_timer(waits.at(0), waits[0].at).empty());
  BOOST_TEST(all<finish>(server.on_checkpointed()).at(0).interrupted);
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
  const auto e = tests::make_experiment(settings, tests::make_ratings(12), {}, {});
  client_routes who(24, e.participants->training());
  server_machine server(e, federated::initial_state(e), &who);
  static_cast<void>(server.start());
  BOOST_REQUIRE(who.attach(who.add_aggregator(""), {0, 23}));
  const auto set = all<timer>(server.on_proceed(100 * second));
  BOOST_REQUIRE(set.size() == 1U);
  BOOST_TEST(set[0].at == 110 * second);
}

BOOST_AUTO_TEST_SUITE_END()
