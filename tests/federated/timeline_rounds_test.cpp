// Rounds in virtual time: deadlines, over-selection, and what each failure does.
#include <cmath>
#include <set>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/simulation/membership.hpp"
#include "models/digest.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(rounds_in_virtual_time)

using namespace furlong;
using namespace furlong::federated;
using tests::plain_settings;
using tests::recorder;
using tests::run_serially;
using tests::simulated;

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_round_and_what_comes_after_it_is_late) {
  auto settings = plain_settings();
  settings.devices->speed_sigma = 1.5;
  settings.participation->deadline = 0.3;
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.late > 0U);
  BOOST_TEST(made.trace.counts.surplus == 0U);
  for (const auto& r : made.reports) BOOST_TEST(r.ended_at - r.began_at <= from_seconds(0.3));
  // When a task that was still at work will end is not known yet.
  std::size_t at_work = 0;
  for (const auto& span : made.reports[0].spans) {
    BOOST_TEST(span.ended_at.has_value() == (span.what != outcome::late));
    at_work += span.ended_at ? 0U : 1U;
  }
  BOOST_TEST(at_work == made.reports[0].in_flight);
  BOOST_TEST(at_work > 0U);
  std::uint64_t late = 0;
  for (const auto& event : made.trace.events) {
    if (event.find(" late ") == std::string::npos) continue;
    ++late;
    BOOST_TEST(event.ends_with(" deadline"), event);
  }
  BOOST_TEST(late == made.trace.counts.late);
}

BOOST_AUTO_TEST_CASE(over_selection_takes_the_fastest_and_the_rest_is_surplus) {
  auto settings = plain_settings();
  settings.participation->per_round = 5;
  settings.participation->over_selection = 2.0;
  const auto made = run_serially(simulated(settings));
  for (const auto& r : made.reports) BOOST_TEST(r.folded == 5U);
  BOOST_TEST(made.trace.counts.surplus > 0U);
  BOOST_TEST(made.trace.counts.late == 0U);
  BOOST_TEST(made.reports[0].selected == 10U);
  BOOST_TEST(std::ranges::none_of(made.trace.events, [](const auto& event) { return event.ends_with("deadline"); }));
}

// As validation, the message limits and the reference say: never fewer than the share asked for.
BOOST_AUTO_TEST_CASE(over_selection_is_rounded_up) {
  const std::tuple<std::uint32_t, double, std::uint64_t> cases[] = {
      {5, 1.3, 7}, {5, 1.01, 6}, {3, 1.1, 4}, {10, 1.1, 11}, {7, 1.0, 7}};
  for (const auto& [per_round, factor, asked] : cases) {
    auto settings = plain_settings();
    settings.rounds = 1;
    settings.participation->per_round = per_round;
    settings.participation->over_selection = factor;
    BOOST_TEST(run_serially(simulated(settings)).reports.at(0).selected == asked, per_round << " times " << factor);
  }
}

BOOST_AUTO_TEST_CASE(too_few_reports_abandon_a_round_and_the_model_stays) {
  auto settings = plain_settings();
  settings.rounds = 1;
  settings.devices->speed_sigma = 1.5;
  settings.participation->deadline = 0.3;
  settings.participation->min_reports = 8;
  const auto e = simulated(settings);
  const auto made = run_serially(e);
  BOOST_TEST(made.reports[0].gave_up);
  BOOST_TEST(made.trace.counts.rounds_abandoned == 1U);
  BOOST_TEST(made.trace.counts.folded == 0U);
  BOOST_TEST(made.trace.counts.abandoned > 0U);
  BOOST_TEST(made.trace.model == hex(models::model_sha256(initial_model(e))));
}

// What a failure does to private values: with "after-training" they are kept once training has ended, with "after-ack"
// only when the update went into a model.
BOOST_AUTO_TEST_CASE(private_values_follow_commit) {
  for (const auto commit : {commit_kind::after_training, commit_kind::after_ack}) {
    auto settings = plain_settings();
    settings.own->commit = commit;
    *settings.dropout = {.upload = 1.0};  // all train, nobody reports
    settings.rounds = 2;
    const auto lost_upload = run_serially(simulated(settings));
    std::uint64_t kept = 0;
    for (const auto& r : lost_upload.trace.ledger) kept += r.trained_version > 0 ? 1 : 0;
    BOOST_TEST((kept > 0) == (commit == commit_kind::after_training));
    BOOST_TEST(lost_upload.trace.counts.dropped[2] == 16U);

    *settings.dropout = {.train = 1.0};  // nobody gets through training
    const auto lost_training = run_serially(simulated(settings));
    for (const auto& r : lost_training.trace.ledger) BOOST_TEST(r.trained_version == 0U);

    *settings.dropout = {};
    settings.participation->deadline = 1e-6;  // everybody is late
    const auto late = run_serially(simulated(settings));
    kept = 0;
    for (const auto& r : late.trace.ledger) kept += r.trained_version > 0 ? 1 : 0;
    BOOST_TEST((kept > 0) == (commit == commit_kind::after_training && late.trace.counts.late > 0));

    settings.rounds = 1;
    settings.devices->speed_sigma = 1.5;
    settings.participation->deadline = 0.3;
    settings.participation->min_reports = 8;  // some report, and not enough
    const auto abandoned = run_serially(simulated(settings));
    kept = 0;
    for (const auto& r : abandoned.trace.ledger) kept += r.trained_version > 0 ? 1 : 0;
    BOOST_TEST(abandoned.trace.counts.abandoned > 0U);
    BOOST_TEST((kept > 0) == (commit == commit_kind::after_training));
  }
}

BOOST_AUTO_TEST_CASE(clients_join_leave_and_return) {
  auto settings = plain_settings();
  settings.rounds = 6;
  settings.participation->per_round = 3;
  *settings.events = {{.at_round = true, .round = 3, .what = event_kind::join, .first = 10, .last = 16},
                      {.at_round = true, .round = 4, .what = event_kind::leave, .first = 0, .last = 9},
                      {.at_round = true, .round = 6, .what = event_kind::join, .first = 0, .last = 9},
                      {.at_round = true, .round = 6, .what = event_kind::leave, .first = 10, .last = 16}};
  const auto made = run_serially(simulated(settings));
  for (std::uint32_t client = 0; client < made.trace.ledger.size(); ++client) {
    const auto& of = made.trace.ledger[client];
    // Version + 1 is the round: the late ones only in rounds 3 to 5, the early ones not in 4 and 5.
    if (client >= 10 && of.selected > 0) BOOST_TEST((of.asked_version >= 3U && of.asked_version <= 5U));
    if (client < 10 && of.selected > 0) BOOST_TEST((of.asked_version <= 3U || of.asked_version == 6U));
  }
  BOOST_TEST(made.trace.counts.selected == 18U);
  BOOST_TEST(std::ranges::count_if(made.trace.events, [](const auto& e) { return e.find("join") != e.npos; }) == 2);
}

BOOST_AUTO_TEST_CASE(who_leaves_with_erase_leaves_nothing) {
  auto settings = plain_settings();
  settings.participation->per_round = 17;
  settings.rounds = 4;
  *settings.events = {{.at_round = true, .round = 4, .what = event_kind::leave, .first = 2, .last = 5, .erase = true}};
  settings.participation->min_reports = 1;
  const auto e = simulated(settings);
  storage::memory_store store(e.parts.private_);
  recorder made;
  const auto observer = made.observer();
  const std::atomic<bool> stop = false;
  BOOST_REQUIRE(simulate(e, initial_state(e), store, observer, stop));
  std::set<std::uint32_t> stored;
  BOOST_REQUIRE(store.visit([&](std::uint32_t client, auto, const auto&) { stored.insert(client); }));
  for (std::uint32_t client = 1; client < 17; ++client)
    BOOST_TEST(stored.contains(client) == (client < 2 || client > 5));
  BOOST_TEST(made.trace.events.back().ends_with(" erased -  m2 m3 m4 m5"), made.trace.events.back());
}

// A share draws its clients: which they were is on record.
BOOST_AUTO_TEST_CASE(an_event_by_share_lists_its_clients) {
  auto settings = plain_settings();
  settings.rounds = 4;
  *settings.events = {{.at_round = true, .round = 2, .what = event_kind::leave, .share = 0.4, .erase = true}};
  const auto e = simulated(settings);
  const auto made = run_serially(e);
  std::string listed;
  clients_of((*settings.events)[0], 0, settings.seed, e.participants->training().back() + 1)
      .visit([&](std::uint32_t client) { listed += " m" + std::to_string(client); });
  BOOST_REQUIRE(!listed.empty());
  std::size_t left = 0;
  std::size_t erased = 0;
  for (const auto& event : made.trace.events) {
    left += event.ends_with(" 2 leave - share 0.400000" + listed) ? 1U : 0U;
    erased += event.ends_with(" erased - " + listed) ? 1U : 0U;
  }
  BOOST_TEST(left == 1U);
  BOOST_TEST(erased == 1U);
}

BOOST_AUTO_TEST_CASE(a_partition_delays_reports_and_training_goes_on) {
  auto settings = plain_settings();
  settings.rounds = 1;
  settings.participation->per_round = 17;
  for (const double mbit : {10.0, 1e9}) {  // of the second transfer nothing is left, not even a microsecond
    settings.devices->mbit = mbit;
    settings.events->clear();
    const auto usual = run_serially(simulated(settings));
    *settings.events = {{.seconds = 0.0, .what = event_kind::heal, .first = 0, .last = 0},
                        {.seconds = 0.001, .what = event_kind::partition, .first = 0, .last = 16},
                        {.seconds = 1000, .what = event_kind::heal, .first = 0, .last = 16}};
    const auto cut = run_serially(simulated(settings));
    BOOST_TEST(cut.trace.model == usual.trace.model);
    BOOST_TEST(cut.trace.ended >= from_seconds(1000));
    BOOST_TEST(cut.trace.ended < from_seconds(1000) + usual.trace.ended);
  }
}

// Where all devices are equal all tasks of a round end at one instant: who is surplus is drawn, over and over.
BOOST_AUTO_TEST_CASE(ties_favour_nobody) {
  auto shape = tests::ratings_shape{};
  shape.fewest = shape.most = 4;
  shape.clients = 107;
  shape.empty = 0;
  auto settings = plain_settings();
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  settings.rounds = 300;
  settings.participation->per_round = 10;
  settings.participation->over_selection = 1.3;
  settings.devices->speed_sigma = settings.devices->network_sigma = 0.0;
  const auto made =
      run_serially(tests::in_a_world(tests::make_experiment(settings, tests::make_ratings(41, shape), {}, {})));
  BOOST_REQUIRE(made.trace.ledger.size() == 100U);
  for (const auto& r : made.reports) BOOST_REQUIRE(r.folded == 10U);
  std::uint64_t low = 0;
  for (std::uint32_t client = 0; client < 100; ++client) {
    const auto folded = made.trace.ledger[client].folded;
    BOOST_TEST(folded > 0U);
    if (client < 50) low += folded;
  }
  BOOST_TEST(std::abs(static_cast<double>(low) - 1500.0) < 5.0 * std::sqrt(3000.0 / 4.0));
}

BOOST_AUTO_TEST_CASE(a_partition_for_ever_without_a_deadline_is_an_error_that_says_so) {
  auto settings = plain_settings();
  *settings.events = {{.seconds = 0.001, .what = event_kind::partition, .first = 0, .last = 16}};
  const auto e = simulated(settings);
  storage::memory_store store(e.parts.private_);
  recorder made;
  const auto observer = made.observer();
  const std::atomic<bool> stop = false;
  const auto ended = simulate(e, initial_state(e), store, observer, stop);
  BOOST_REQUIRE(!ended);
  BOOST_TEST(ended.error().text().find("participation.deadline") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nobody_is_waited_for_for_ever) {
  auto settings = plain_settings();
  settings.rounds = 3;
  *settings.events = {{.seconds = 0.0, .what = event_kind::leave, .share = 1.0},
                      {.at_round = true, .round = 1, .what = event_kind::leave, .share = 1.0}};
  for (int events = 2; events > 0; --events) {  // what happens at 0 s does so before the first round
    const auto made = run_serially(simulated(settings));
    BOOST_TEST(made.trace.counts.rounds_abandoned == 3U);
    BOOST_TEST(made.trace.counts.selected == 0U);
    settings.events->resize(1);
  }
}

// Who is not there at first follows from what happens first, wherever that stands in the file.
BOOST_AUTO_TEST_CASE(the_first_to_happen_says_who_is_there_at_first) {
  for (const bool at_rounds : {true, false})
    for (const bool joins_first : {true, false})
      for (const bool turned : {true, false}) {
        const std::uint32_t join = joins_first ? 3 : 7;
        const std::uint32_t leave = joins_first ? 7 : 3;
        run_settings settings;
        *settings.events = {{.what = event_kind::join, .first = 2, .last = 4},
                            {.what = event_kind::leave, .first = 2, .last = 4}};
        for (std::size_t i = 0; i < 2; ++i) {
          auto& event = (*settings.events)[i];
          event.at_round = at_rounds;
          const auto when = i == 0 ? join : leave;
          if (at_rounds)
            event.round = when;
          else
            event.seconds = when;
        }
        if (turned) std::swap((*settings.events)[0], (*settings.events)[1]);
        const membership members(settings, 10);
        for (std::uint32_t client = 0; client < 10; ++client)
          BOOST_TEST(members.present(client) == (!joins_first || client < 2 || client > 4));
      }
}

BOOST_AUTO_TEST_CASE(pace_steering_keeps_clients_away_for_a_while) {
  auto settings = plain_settings();
  settings.rounds = 12;
  settings.participation->per_round = 8;
  settings.participation->reconnect_least = 50;
  settings.participation->reconnect_most = 60;
  settings.participation->retry = 10;
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.selected > 24U);
  BOOST_TEST(made.trace.ended > from_seconds(150));  // 17 clients, about one task a minute each
}

BOOST_AUTO_TEST_SUITE_END()
