// An evaluation that nodes compute, one event at a time.
#include "federated/protocol/scoring_machine.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/protocol/directory.hpp"
#include "federated/round.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::virtual_time;

namespace {

constexpr virtual_time second = federated::microseconds_per_second;

federated::run_settings settings_of() {
  federated::run_settings settings;
  settings.rounds = 3;
  settings.network.task_timeout = 200;
  return settings;
}

/// An evaluation of all clients at time 0: aggregator 0 has clients 0 to 9, aggregator 1 the others.
struct scoring {
  federated::experiment e = tests::make_experiment(settings_of(), tests::make_ratings(12), {}, {});
  directory who{24, e.participants->training()};
  server_machine server{e, federated::initial_state(e), &who};
  scoring_machine machine{e, server, 0};
  std::map<std::uint32_t, evaluation_down> asked;

  scoring() {
    for (const client_range clients : {client_range{0, 9}, client_range{10, 23}})
      BOOST_REQUIRE(who.attach(who.add_aggregator(""), clients));
    asked = machine.ask(who);
    BOOST_REQUIRE(asked.size() == 2U);
  }
  /// Sound scores of all that the aggregator was asked for, or of the first few.
  [[nodiscard]] evaluation_scores answer(std::uint32_t aggregator, std::size_t most = SIZE_MAX) const {
    evaluation_scores some{asked.at(aggregator).from->version, {}};
    for (const auto& [in, client] : asked.at(aggregator).clients)
      if (some.each.size() < most) some.each.push_back({in, client, {8.0, 8.0, 1, 2, {}}});
    return some;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scoring_machines)

BOOST_AUTO_TEST_CASE(it_is_over_when_all_have_answered) {
  scoring one;
  const auto all = one.machine.missing();
  BOOST_TEST(all == one.machine.size());
  one.machine.on_scores(0, one.answer(0), second);
  BOOST_TEST(!one.machine.is_over(second));
  one.machine.on_scores(1, one.answer(1), second);
  BOOST_TEST(one.machine.missing() == 0U);
  BOOST_TEST(one.machine.is_over(second));
  BOOST_TEST(!one.machine.cut_short());
  const auto seen = one.machine.report().seen.value();
  BOOST_TEST(seen.loss == 4.0);
  BOOST_TEST(seen.examples == 2 * seen.clients);
}

BOOST_AUTO_TEST_CASE(only_what_is_awaited_counts) {
  scoring one;
  auto stale = one.answer(0);
  ++stale.version;
  const auto before = one.machine.missing();
  one.machine.on_scores(0, stale, 0);
  one.machine.on_scores(1, one.answer(0), 0);  // of another aggregator's clients
  BOOST_TEST(one.machine.missing() == before);
  auto forged = one.answer(0);
  for (auto& each : forged.each) each.score.odds = {{0.5F, true}, {0.5F, false}};  // of ratings
  one.machine.on_scores(0, forged, 0);
  one.machine.on_aggregator_lost(1);
  BOOST_TEST(one.machine.is_over(0));
  BOOST_TEST(!one.machine.report().seen);  // nobody was scored
}

// An empty message is no sign of life.
BOOST_AUTO_TEST_CASE(messages_without_scores_do_not_keep_it_open) {
  scoring one;
  one.machine.on_scores(0, one.answer(0), 0);
  virtual_time now = 0;
  while (!one.machine.is_over(now) && now < 1000 * second) {
    now += 10 * second;
    one.machine.on_scores(1, evaluation_scores{0, {}}, now);
    one.machine.on_scores(1, one.answer(0), now);
  }
  BOOST_TEST(now == 70 * second);
  BOOST_TEST(one.machine.report().seen.has_value());
  BOOST_TEST(!one.machine.cut_short());
}

BOOST_AUTO_TEST_CASE(no_node_keeps_it_open_beyond_the_time_of_a_task) {
  scoring one;
  virtual_time now = 0;
  for (std::size_t n = 1; !one.machine.is_over(now) && n < one.asked.at(1).clients.size(); ++n) {
    now += 50 * second;
    one.machine.on_scores(1, one.answer(1, n), now);  // one more
  }
  BOOST_TEST(now == 250 * second);
}

BOOST_AUTO_TEST_CASE(a_stop_waits_for_little_more) {
  scoring one;
  one.machine.on_scores(0, one.answer(0), 0);
  one.machine.on_stop(second);
  BOOST_TEST(!one.machine.is_over(6 * second));  // heartbeat and timeout
  BOOST_TEST(one.machine.is_over(6 * second + 1));
  BOOST_TEST(one.machine.cut_short());
  one.machine.on_scores(1, one.answer(1), 5 * second);
  BOOST_TEST(one.machine.is_over(5 * second));
  BOOST_TEST(!one.machine.cut_short());

  scoring slow;
  virtual_time now = 0;
  slow.machine.on_stop(now);
  for (std::size_t n = 1; !slow.machine.is_over(now); ++n) {
    now += 4 * second;
    slow.machine.on_scores(1, slow.answer(1, n), now);
    if (n == slow.asked.at(1).clients.size()) break;
  }
  BOOST_TEST(now <= 64 * second);
}

BOOST_AUTO_TEST_SUITE_END()
