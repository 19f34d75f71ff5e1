// An evaluation that nodes compute, one event at a time.
#include "federated/protocol/scoring_machine.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/protocol/client_routes.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(scoring_machines)

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::virtual_time;

namespace {

constexpr virtual_time second = federated::microseconds_per_second;

federated::run_settings settings_of() {
  federated::run_settings settings;
  settings.rounds = 3;
  settings.network->task_timeout = 200;
  return settings;
}

constexpr federated::client_range firsts{0, 9};
constexpr federated::client_range others{10, 23};

/// An evaluation of all clients at time 0: aggregator 0 has clients 0 to 9, aggregator 1 the others.
struct scoring {
  federated::experiment e;
  client_routes who{24, e.participants->training(), {5 * second, 100 * second}};
  server_machine server{e, federated::initial_state(e), &who};
  scoring_machine machine{e, server, who, 0};
  scoring_machine::requests asked;

  explicit scoring(const federated::run_settings& settings = settings_of())
      : e(tests::make_experiment(settings, tests::make_ratings(12), {}, {})) {
    for (const auto& clients : {firsts, others}) BOOST_REQUIRE(who.attach(who.add_aggregator(""), clients));
    asked = machine.ask(0);
    BOOST_REQUIRE(asked.size() == 2U);
  }
  /// Sound scores of all that are asked for, or of the first few.
  [[nodiscard]] static evaluation_scores answer(const evaluation_down& to, std::size_t most = SIZE_MAX) {
    evaluation_scores some{to.from->version, {}};
    for (const auto& [in, client] : to.clients)
      if (some.each.size() < most) some.each.push_back({in, client, {8.0, 8.0, 1, 2, {}}});
    return some;
  }
  [[nodiscard]] evaluation_scores answer(std::uint32_t aggregator, std::size_t most = SIZE_MAX) const {
    return answer(asked.at(aggregator), most);
  }
  /// None of what was asked for, since the clients are not reached there.
  [[nodiscard]] evaluation_scores none(std::uint32_t aggregator) const {
    auto all = answer(aggregator);
    for (auto& each : all.each) each.score = {};
    all.unscored = true;
    return all;
  }
  /// What the aggregator is told answers nobody again.
  void hears(std::uint32_t aggregator, evaluation_scores what, virtual_time now) {
    BOOST_TEST(machine.on_scores(aggregator, std::move(what), now).empty());
  }
  scoring_machine::requests lose(std::uint32_t aggregator, virtual_time now) {
    who.remove_aggregator(aggregator, now);
    return machine.on_aggregator_lost(aggregator, now);
  }
  scoring_machine::requests attach(const federated::client_range& clients, virtual_time now) {
    BOOST_REQUIRE(who.attach(who.add_aggregator(""), clients));
    return machine.on_attached(clients, now);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_over_when_all_have_answered) {
  scoring one;
  const auto all = one.machine.missing();
  BOOST_TEST(all == one.machine.size());
  one.hears(0, one.answer(0), second);
  BOOST_TEST(!one.machine.is_over(second));
  one.hears(1, one.answer(1), second);
  BOOST_TEST(one.machine.missing() == 0U);
  BOOST_TEST(one.machine.is_over(second));
  BOOST_TEST(!one.machine.cut_short(second));
  const auto seen = one.machine.report().seen.value();
  BOOST_TEST(seen.loss == 4.0);
  BOOST_TEST(seen.examples == 2 * seen.clients);
}

BOOST_AUTO_TEST_CASE(only_what_is_awaited_counts) {
  scoring one;
  auto stale = one.answer(0);
  ++stale.version;
  const auto before = one.machine.missing();
  one.hears(0, stale, 0);
  one.hears(1, one.answer(0), 0);  // of another aggregator's clients
  BOOST_TEST(one.machine.missing() == before);
  auto forged = one.answer(0);
  for (auto& each : forged.each) each.score.odds = {{0.5F, true}, {0.5F, false}};  // of ratings
  one.hears(0, forged, 0);
  BOOST_TEST(one.lose(1, 0).empty());
  BOOST_TEST(one.machine.is_over(100 * second));
  BOOST_TEST(!one.machine.report().seen);  // nobody was scored
}

// An empty message is no sign of life.
BOOST_AUTO_TEST_CASE(messages_without_scores_do_not_keep_it_open) {
  scoring one;
  one.hears(0, one.answer(0), 0);
  virtual_time now = 0;
  while (!one.machine.is_over(now) && now < 1000 * second) {
    now += 10 * second;
    one.hears(1, evaluation_scores{0, {}}, now);
    one.hears(1, one.answer(0), now);
  }
  BOOST_TEST(now == 70 * second);
  BOOST_TEST(one.machine.report().seen.has_value());
  BOOST_TEST(!one.machine.cut_short(now));
}

BOOST_AUTO_TEST_CASE(no_node_keeps_it_open_beyond_the_time_of_a_task) {
  scoring one;
  virtual_time now = 0;
  for (std::size_t n = 1; !one.machine.is_over(now) && n < one.asked.at(1).clients.size(); ++n) {
    now += 50 * second;
    one.hears(1, one.answer(1, n), now);  // one more
  }
  BOOST_TEST(now == 250 * second);
}

BOOST_AUTO_TEST_CASE(a_stop_waits_for_little_more) {
  scoring one;
  one.hears(0, one.answer(0), 0);
  one.machine.on_stop(second);
  BOOST_TEST(!one.machine.is_over(6 * second));  // heartbeat and timeout
  BOOST_TEST(one.machine.is_over(6 * second + 1));
  BOOST_TEST(one.machine.cut_short(6 * second + 1));
  one.hears(1, one.answer(1), 5 * second);
  BOOST_TEST(one.machine.is_over(5 * second));
  BOOST_TEST(!one.machine.cut_short(5 * second));

  scoring slow;
  virtual_time now = 0;
  slow.machine.on_stop(now);
  for (std::size_t n = 1; !slow.machine.is_over(now); ++n) {
    now += 4 * second;
    slow.hears(1, slow.answer(1, n), now);
    if (n == slow.asked.at(1).clients.size()) break;
  }
  BOOST_TEST(now <= 64 * second);
}

// As if the aggregator had not been there: its clients are asked again where they are reached next.
BOOST_AUTO_TEST_CASE(clients_of_a_lost_aggregator_are_waited_for_and_asked_again) {
  scoring one;
  one.hears(0, one.answer(0), 0);
  one.hears(1, one.answer(1, 3), second);
  const auto answered = one.machine.size() - one.machine.missing();
  BOOST_TEST(one.lose(1, 2 * second).empty());
  BOOST_TEST(one.machine.missing() == one.machine.size() - answered);
  BOOST_TEST(!one.machine.is_over(90 * second));  // nothing is heard of them for more than a minute
  const auto some = one.attach({10, 15}, 90 * second);
  BOOST_REQUIRE(some.size() == 1U);
  for (const auto& [in, client] : some.at(2).clients) BOOST_TEST(client <= 15U);
  one.hears(1, one.answer(1), 91 * second);  // which is not there
  one.hears(2, scoring::answer(some.at(2)), 91 * second);
  BOOST_TEST(!one.machine.is_over(91 * second));
  const auto rest = one.attach({16, 23}, 92 * second);
  BOOST_REQUIRE(rest.size() == 1U);
  BOOST_TEST(answered + some.at(2).clients.size() + rest.at(3).clients.size() == one.machine.size());
  one.hears(3, scoring::answer(rest.at(3)), 93 * second);
  BOOST_TEST(one.machine.missing() == 0U);
  BOOST_TEST(one.machine.is_over(93 * second));
  BOOST_TEST(one.machine.report().seen->clients == one.e.participants->training().size());

  scoring gone;
  gone.hears(0, gone.answer(0), 0);
  BOOST_TEST(gone.lose(1, 2 * second).empty());
  BOOST_TEST(gone.machine.is_over(102 * second));  // as long as they are expected
  BOOST_TEST(gone.machine.missing() == gone.asked.at(1).clients.size());
  BOOST_TEST(gone.attach(others, 102 * second).size() == 1U);
  BOOST_TEST(!gone.machine.is_over(102 * second));
}

// Its node went elsewhere, or is on its way.
BOOST_AUTO_TEST_CASE(clients_that_an_aggregator_does_not_reach_are_asked_where_they_are) {
  scoring one;
  one.hears(0, one.answer(0), 0);
  BOOST_TEST(one.attach(others, second).empty());  // the first aggregator has not said that it cannot
  one.hears(0, one.none(1), second);               // of another aggregator's clients
  const auto again = one.machine.on_scores(1, one.none(1), second);
  BOOST_REQUIRE(again.size() == 1U);
  BOOST_TEST(again.at(2).clients.size() == one.asked.at(1).clients.size());
  one.who.detach(2, others, 2 * second);
  one.who.detach(1, others, 2 * second);
  one.hears(2, one.none(1), 2 * second);
  BOOST_TEST(!one.machine.is_over(6 * second));
  BOOST_TEST(one.machine.is_over(7 * second));  // a heartbeat and a timeout
  BOOST_TEST(!one.machine.cut_short(6 * second));
  one.machine.on_stop(3 * second);
  BOOST_TEST(one.machine.cut_short(6 * second));
}

BOOST_AUTO_TEST_CASE(a_run_that_does_not_wait_for_every_task_does_not_wait_for_scores_that_were_lost) {
  auto settings = settings_of();
  settings.participation->deadline = 30;
  scoring one(settings);
  one.hears(0, one.answer(0), 0);
  BOOST_TEST(one.lose(1, second).empty());
  BOOST_TEST(one.machine.is_over(second));
  BOOST_TEST(one.machine.missing() == one.asked.at(1).clients.size());
  BOOST_TEST(one.attach(others, second).empty());
}

BOOST_AUTO_TEST_SUITE_END()
