// Rounds that wait for clients: when they look again, and what becomes of them when the run is to stop.
#include <atomic>
#include <functional>

#include "federated/settings/devices.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "tests/federated/simulation_worlds.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(rounds_that_wait)

using namespace furlong;
using namespace furlong::federated;
using tests::second;

namespace {

/// All clients are available in the first `open` of every `lap`; a few are so for twice as long.
class daily final : public availability {
 public:
  daily(virtual_time open, virtual_time lap, std::uint32_t few, std::function<void(virtual_time)> watch = {})
      : open_(open), lap_(lap), few_(few), watch_(std::move(watch)) {}
  bool available(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    if (watch_) watch_(now);
    return now % lap_ < open(client);
  }
  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto phase = now % lap_;
    return now - phase + (phase < open(client) ? open(client) : lap_);
  }

 private:
  [[nodiscard]] virtual_time open(std::uint32_t client) const { return client < few_ ? 2 * open_ : open_; }
  virtual_time open_;
  virtual_time lap_;
  std::uint32_t few_;
  std::function<void(virtual_time)> watch_;
};

experiment daily_world(run_settings s, virtual_time open, virtual_time lap, std::uint32_t few,
                       std::function<void(virtual_time)> watch = {}) {
  s.devices->speed_sigma = 1.0;
  s.devices->ms_per_example = 20.0;
  auto e = tests::simulated(s);
  e.around = std::make_shared<world>(world{device_park(*e.settings.devices, s.seed, *e.participants),
                                           std::make_unique<daily>(open, lap, few, std::move(watch))});
  return e;
}

/// Rounds that most clients are needed for, of which a deadline leaves tasks at work: they end while the next one
/// waits.
run_settings waiting_rounds() {
  auto s = tests::plain_settings();
  s.rounds = 4;
  s.own->commit = commit_kind::after_training;
  s.dropout->policy = dropout_policy::pause;
  s.participation->per_round = 12;
  s.participation->deadline = 1.0;
  s.participation->selection_timeout = 40'000;
  s.participation->min_separation = 1;
  return s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_round_that_waits_when_the_run_is_to_stop_begins_again) {
  // A window of two seconds: after the first round most clients are away for hours.
  const auto undisturbed = tests::run_serially(daily_world(waiting_rounds(), 2 * second, 20'000 * second, 4));
  BOOST_REQUIRE(undisturbed.reports.size() == 4U);
  bool stopped_in_wait = false;
  BOOST_REQUIRE(undisturbed.trace.ended >= 20'000 * second);
  for (const virtual_time when : {0 * second, 1 * second, 3 * second, 1000 * second, 19'000 * second}) {
    tests::recorder made;
    std::atomic<bool> stop = false;
    std::atomic<bool> armed = true;
    const auto watch = [&](virtual_time now) {
      if (armed && now >= when) stop = true;
    };
    const auto e = daily_world(waiting_rounds(), 2 * second, 20'000 * second, 4, watch);
    storage::memory_store store(e.parts.private_);
    const auto observer = made.observer();
    auto outcome = simulate(e, initial_state(e), store, observer, stop);
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
    BOOST_TEST(outcome->interrupted);
    BOOST_TEST(outcome->state.version < 4U);
    stopped_in_wait = stopped_in_wait || outcome->state.now < when;
    armed = stop = false;
    auto state = *made.checkpoint;
    state.ledger = std::make_shared<participation_ledger>(*made.checkpoint->ledger);
    outcome = simulate(e, std::move(state), store, observer, stop);
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
    made.finish(*outcome, store);
    BOOST_TEST_CONTEXT("stopped at " << to_seconds(when) << " s") tests::check_same(made.trace, undisturbed.trace);
  }
  BOOST_TEST(stopped_in_wait);
}

// The same with nodes: the run ends with the model of the undisturbed one, at another time.
BOOST_AUTO_TEST_CASE(a_round_of_nodes_that_waits_when_the_run_is_to_stop_begins_again) {
  auto s = waiting_rounds();
  s.rounds = 8;
  s.dropout->policy = dropout_policy::abort;  // rounds end when devices go off
  s.participation->deadline = 0;
  s.topology->nodes = 3;
  s.topology->aggregators = 2;
  const auto undisturbed = tests::run_serially(daily_world(s, 6 * second, 20'000 * second, 0));
  BOOST_REQUIRE(undisturbed.reports.size() == 8U);
  BOOST_REQUIRE(undisturbed.trace.ended >= 20'000 * second);
  bool stopped_in_wait = false;
  for (const virtual_time when : {100 * second, 1000 * second, 19'000 * second}) {
    tests::recorder made;
    std::atomic<bool> stop = false;
    std::atomic<bool> armed = true;
    const auto e = daily_world(s, 6 * second, 20'000 * second, 0, [&](virtual_time now) {
      if (armed && now >= when) stop = true;
    });
    storage::memory_store store(e.parts.private_);
    const auto observer = made.observer();
    auto outcome = simulate(e, initial_state(e), store, observer, stop);
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
    BOOST_TEST(outcome->interrupted);
    stopped_in_wait = stopped_in_wait || outcome->state.now > 6 * second;
    BOOST_TEST(outcome->state.now < 20'000 * second);
    armed = stop = false;
    auto state = *made.checkpoint;
    state.ledger = std::make_shared<participation_ledger>(*made.checkpoint->ledger);
    state.history.resume(state.version, 1);
    store.resume(state.history);
    outcome = simulate(e, std::move(state), store, observer, stop);
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
    made.finish(*outcome, store);
    BOOST_TEST_CONTEXT("stopped at " << to_seconds(when) << " s") {
      BOOST_TEST(made.trace.model == undisturbed.trace.model);
      BOOST_TEST(made.trace.own == undisturbed.trace.own);
      BOOST_TEST((made.trace.counts == undisturbed.trace.counts));
    }
  }
  BOOST_TEST(stopped_in_wait);
}

// Pauses double: from a minute to an hour. A window of ten minutes lies between two attempts, in a lap that is no
// multiple of an hour.
BOOST_AUTO_TEST_CASE(a_short_window_of_availability_is_not_missed) {
  for (const auto& [mode, nodes] : {std::pair(participation_mode::sync, 0U),
                                    {participation_mode::async, 0U},
                                    {participation_mode::sync, 3U},
                                    {participation_mode::async, 3U}}) {
    auto s = tests::plain_settings();
    s.rounds = 3;
    s.participation->mode = mode;
    s.participation->buffer = 17;
    s.participation->concurrency = 17;
    s.participation->per_round = 17;
    s.participation->min_reports = mode == participation_mode::sync ? 17 : 1;
    s.participation->reconnect_least = s.participation->reconnect_most = 3600;
    const auto lap = 87'900 * second;
    s.topology->nodes = nodes;
    const auto made = tests::run_serially(daily_world(s, 600 * second, lap, 0));
    BOOST_REQUIRE(made.reports.size() == 3U);
    for (std::uint64_t day = 0; day < 3; ++day) {
      BOOST_TEST(made.reports[day].folded == 17U);
      BOOST_TEST(made.reports[day].ended_at / lap == static_cast<virtual_time>(day));
    }
  }
}

// Attempts to select follow each other for a day in which nobody is available.
BOOST_AUTO_TEST_CASE(a_server_that_waits_does_not_look_at_all_clients_at_each_attempt) {
  auto s = tests::plain_settings();
  s.rounds = 3;
  s.participation->mode = participation_mode::async;
  s.participation->buffer = 17;
  s.participation->concurrency = 17;
  s.participation->reconnect_least = s.participation->reconnect_most = 3600;
  const auto open = 600 * second;
  const auto lap = 87'900 * second;
  std::uint64_t looks = 0;
  const auto e = daily_world(s, open, lap, 0, [&](virtual_time now) { looks += now % lap > 2 * open ? 1 : 0; });
  BOOST_TEST(tests::run_serially(e).reports.size() == 3U);
  BOOST_TEST(looks <= 3 * e.participants->training().size());  // two days, and thirty attempts in each
}

BOOST_AUTO_TEST_SUITE_END()
