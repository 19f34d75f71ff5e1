// When a server looks for clients: how often, how long, and how soon it asks one again.
#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/federated/open_round.hpp"

BOOST_AUTO_TEST_SUITE(server_timing)

using namespace furlong;
using federated::from_seconds;
using federated::to_seconds;
using federated::virtual_time;
using namespace furlong::federated::protocol;
using numbers = std::set<std::uint32_t>;

namespace {

const auto ratings = tests::make_ratings(12);
const numbers everybody(ratings->seen.begin(), ratings->seen.end());

/// Reaches whom the test says.
struct lobby final : roster {
  numbers there;

  void on_round(std::uint64_t, virtual_time) override {}
  bool reachable(std::uint32_t client, virtual_time, std::uint64_t) override { return there.contains(client); }
  bool waiting_helps() const override { return true; }
};

/// A server that looks again after 50 s, and its lobby.
struct bench {
  federated::experiment e;
  lobby who;
  server_machine server;

  explicit bench(federated::participation_settings how, numbers there = {})
      : e(experiment_of(how)), server(e, federated::initial_state(e), &who) {
    who.there = std::move(there);
  }
  static federated::experiment experiment_of(federated::participation_settings how) {
    federated::run_settings settings;
    settings.rounds = 9;
    *settings.participation = how;
    return tests::make_experiment(settings, ratings, {}, {});
  }
  server_effects proceed(double now) { return server.on_proceed(from_seconds(now)); }
  server_effects fire(double at) {
    const timer look{timer_kind::retry_selection, server.state().version, from_seconds(at)};
    return server.on_timer(look, look.at);
  }
  server_effects drop(const federated::task_id& task, double now) {
    federated::settlement one;
    one.id = task;
    one.what = federated::outcome::dropped;
    return server.on_settled(0, {one}, from_seconds(now));
  }
};

/// The one look that these effects ask for, in seconds.
double look_of(const server_effects& effects) {
  BOOST_REQUIRE(!effects.empty());
  const auto* look = std::get_if<timer>(&effects.back());
  BOOST_REQUIRE(look != nullptr);
  BOOST_TEST((look->what == timer_kind::retry_selection));
  return to_seconds(look->at);
}

std::vector<federated::task_id> tasks_of(const server_effects& effects) {
  std::vector<federated::task_id> all;
  for (const auto& effect : effects)
    if (const auto* give = std::get_if<assign>(&effect)) all.insert(all.end(), give->tasks.begin(), give->tasks.end());
  return all;
}

numbers asked_by(const server_effects& effects) {
  numbers all;
  for (const auto& task : tasks_of(effects)) all.insert(task.client);
  return all;
}

const federated::round_report* closed_by(const server_effects& effects) {
  for (const auto& effect : effects)
    if (const auto* closed = std::get_if<round_closed>(&effect)) return &closed->report;
  return nullptr;
}

federated::participation_settings round_of(std::uint32_t per_round, std::uint32_t min_reports) {
  federated::participation_settings how;
  how.per_round = per_round;
  how.min_reports = min_reports;
  how.retry = 50;
  return how;
}

federated::participation_settings one_at_a_time() {
  federated::participation_settings how;
  how.mode = federated::participation_mode::async;
  how.concurrency = 1;
  how.retry = 50;
  return how;
}

/// A round that asks everybody at 0 s, of whom all drop out at `end` seconds.
void ask_everybody(bench& of, double end) {
  of.who.there = everybody;
  const auto begun = of.proceed(0);
  const auto& share = std::get<assign>(begun.at(0));
  BOOST_REQUIRE(share.tasks.size() == everybody.size());
  aggregator_machine machine(of.e, 0);
  aggregator_effects out;
  machine.on_assignment(share.from, share.tasks, true, out);
  for (const auto& task : share.tasks) machine.on_drop(task, federated::drop_stage::train, out);
  const tests::share_end sent(out);
  BOOST_TEST(of.server.on_settled(0, sent.settled, from_seconds(end)).empty());
  BOOST_REQUIRE(of.server.on_partial(sent.partial, from_seconds(end)));
  BOOST_REQUIRE(of.server.state().version == 1U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(looks_come_after_retry_doubling_up_to_an_hour) {
  for (const auto& how : {round_of(8, 8), one_at_a_time()}) {
    bench of(how);
    double now = 1000;
    double next = look_of(of.proceed(now));
    for (const double gap : {50, 100, 200, 400, 800, 1600, 3200, 3600, 3600, 3600}) {
      BOOST_TEST(next - now == gap);
      now = next;
      next = look_of(of.fire(now));
    }
    of.who.there = everybody;
    BOOST_TEST(tasks_of(of.fire(next)).size() == (how.mode == federated::participation_mode::sync ? 8U : 1U));
  }
  auto slow = round_of(8, 8);
  slow.retry = 5000;  // longer than an hour from the first
  bench of(slow);
  BOOST_TEST(look_of(of.proceed(0)) == 5000.0);
  BOOST_TEST(look_of(of.fire(5000)) == 10'000.0);
}

BOOST_AUTO_TEST_CASE(a_round_without_clients_is_given_up_after_a_week_and_the_next_looks_soon_again) {
  constexpr double week = 7 * 86'400;
  bench of(round_of(8, 8), {1, 2, 3});
  double next = look_of(of.proceed(0));
  while (next < week) next = look_of(of.fire(next));
  BOOST_TEST(next == week);
  const auto effects = of.fire(week);
  BOOST_REQUIRE(closed_by(effects) != nullptr);
  BOOST_TEST(closed_by(effects)->gave_up);
  BOOST_TEST(look_of(of.proceed(week)) == week + 50);
}

BOOST_AUTO_TEST_CASE(a_client_counts_once_in_a_round_however_often_it_is_looked_at) {
  auto how = round_of(8, 8);
  how.selection_timeout = 130;
  bench of(how, {1, 2, 3});
  for (int round = 0; round < 2; ++round) {
    const double begin = 1000.0 * round;
    of.who.there = {1, 2, 3};
    static_cast<void>(of.proceed(begin));
    static_cast<void>(of.fire(begin + 50));
    of.who.there = {2, 4};
    const auto effects = of.fire(begin + 130);
    const auto* closed = closed_by(effects);
    BOOST_REQUIRE(closed != nullptr);
    BOOST_TEST(closed->probed == everybody.size());
    BOOST_TEST(closed->available == 4U);  // 1, 2 and 3 at the first looks, 4 at the last
  }
}

// Asynchronous: a look that finds enough starts the waits again.
BOOST_AUTO_TEST_CASE(waits_are_short_again_after_somebody_was_found) {
  bench of(one_at_a_time());
  BOOST_TEST(look_of(of.proceed(0)) == 50.0);
  BOOST_TEST(look_of(of.fire(50)) == 150.0);
  of.who.there = {3};
  const auto given = tasks_of(of.fire(150));
  BOOST_REQUIRE(given.size() == 1U);
  of.who.there = {};
  BOOST_TEST(look_of(of.drop(given[0], 160)) == 210.0);
}

BOOST_AUTO_TEST_CASE(a_selection_ends_at_its_timeout) {
  const numbers three = {2, 5, 11};
  BOOST_TEST(asked_by(bench(round_of(8, 1), three).proceed(1000)) == three);  // without one, at once
  auto how = round_of(8, 1);
  how.selection_timeout = 130;
  bench of(how, three);
  BOOST_TEST(look_of(of.proceed(1000)) == 1050.0);
  BOOST_TEST(look_of(of.fire(1050)) == 1130.0);
  BOOST_TEST(asked_by(of.fire(1130)) == three);
  how.min_reports = 4;
  bench few(how, three);
  BOOST_TEST(look_of(few.proceed(1000)) == 1050.0);
  BOOST_TEST(look_of(few.fire(1050)) == 1130.0);
  const auto effects = few.fire(1130);
  BOOST_TEST(asked_by(effects).empty());
  BOOST_REQUIRE(closed_by(effects) != nullptr);
  BOOST_TEST(closed_by(effects)->gave_up);
}

// Each client for a time of its own.
BOOST_AUTO_TEST_CASE(a_client_rests_between_least_and_most) {
  auto how = round_of(static_cast<std::uint32_t>(everybody.size()), 1);
  how.reconnect_least = 100;
  how.reconnect_most = 200;
  constexpr double end = 10;
  for (const double rest : {99.0, 130.0, 170.0, 200.0}) {
    bench of(how);
    ask_everybody(of, end);
    numbers back;
    for (const auto client : everybody) {
      random_stream stream(of.e.settings.seed, purpose::reconnect, 1, client, 0);
      if (rest >= 100 + 100 * static_cast<double>(stream.uniform())) back.insert(client);
    }
    BOOST_TEST(back.empty() == (rest < 100));
    BOOST_TEST((back == everybody) == (rest >= 200));
    const auto effects = of.proceed(end + rest);
    BOOST_TEST(asked_by(effects) == back);
    if (back.empty()) BOOST_TEST(look_of(effects) == end + rest + 50);
  }
}

BOOST_AUTO_TEST_CASE(a_client_that_drops_out_is_asked_four_times_in_a_version) {
  bench of(one_at_a_time(), {3});
  auto given = of.proceed(0);
  for (std::uint32_t attempt = 0; attempt < 4; ++attempt) {
    const auto tasks = tasks_of(given);
    BOOST_REQUIRE(tasks.size() == 1U);
    BOOST_TEST(tasks[0].client == 3U);
    BOOST_TEST(tasks[0].attempt == attempt);
    given = of.drop(tasks[0], 10.0 * (attempt + 1));
  }
  BOOST_TEST(tasks_of(given).empty());
  BOOST_TEST(look_of(given) == 90.0);
}

BOOST_AUTO_TEST_SUITE_END()
