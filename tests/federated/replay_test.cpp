// Runs without a client: unresponsive clients, and Poisson cohorts of a population that never had it.
#include <algorithm>
#include <cmath>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/simulation/scenario_events.hpp"
#include "tests/federated/selections.hpp"
#include "tests/support/worlds.hpp"

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::tests;

namespace {

constexpr std::uint32_t training_clients = 17;

void silence(run_settings& settings, std::uint32_t client) {
  settings.events->push_back(
      {.at_round = true, .round = 1, .what = event_kind::unresponsive, .first = client, .last = client});
}

recorder run_without(run_settings settings, std::uint32_t client) {
  silence(settings, client);
  return run_serially(simulated(settings));
}

/// The same clients and data, of whom this one was never there.
experiment population_without(const run_settings& settings, std::uint32_t client) {
  auto e = simulated(settings);
  auto clients = make_ratings(41);
  std::erase(clients->seen, client);
  e.clients = e.participants = clients;
  return in_a_world(std::move(e));
}

/// Slow and fast devices, clients that come and go, stragglers and dropout.
run_settings hard_settings() {
  auto settings = plain_settings();
  settings.rounds = 12;
  settings.devices->speed_sigma = 1.0;
  settings.devices->straggler_share = 0.2;
  settings.devices->straggler_factor = 4.0;
  settings.devices->availability.kind = "bernoulli";
  settings.devices->availability.rate = 0.7;
  settings.dropout->train = settings.dropout->upload = 0.2;
  return settings;
}

run_settings poisson_settings() {
  auto settings = hard_settings();
  settings.participation->policy = chosen_policy("poisson");
  settings.participation->rate = 0.3;
  settings.participation->per_round = settings.participation->cap;
  settings.aggregation->rule = chosen_rule("uniform-mean");
  return settings;
}

/// How a task of a client ended, and how long it took.
struct seen_task {
  std::uint64_t round;
  std::uint32_t client;
  virtual_time took;
  bool aggregated;
  auto operator<=>(const seen_task&) const = default;
};

/// The tasks of the first round, of all clients but one.
std::vector<seen_task> tasks_of(const recorder& of, std::uint32_t without) {
  std::vector<seen_task> all;
  for (const auto& report : of.reports)
    for (const auto& span : report.spans)
      if (span.client != without && span.ended_at)
        all.push_back({report.version, span.client, *span.ended_at - span.started_at, span.what == outcome::folded});
  std::ranges::sort(all);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replay)

// Every draw about another client is keyed by that client: selection, device, straggling, dropout and their duration.
BOOST_AUTO_TEST_CASE(an_unresponsive_client_changes_no_draw_about_another_one) {
  const auto all = run_serially(simulated(hard_settings()));
  for (std::uint32_t client = 0; client < training_clients; ++client) {
    const auto without = run_without(hard_settings(), client);
    BOOST_TEST_CONTEXT("client " << client) {
      BOOST_TEST((tasks_of(all, client) == tasks_of(without, client)));
      for (std::uint32_t other = 0; other < training_clients; ++other)
        BOOST_TEST(all.trace.ledger[other].selected == without.trace.ledger[other].selected);
      const auto& of = without.trace.ledger[client];
      BOOST_TEST(of.folded == 0U);
      BOOST_TEST(of.trained_version == 0U);
      const bool weighs = client > 0 && all.trace.ledger[client].folded > 0;  // client 0 has no examples
      BOOST_TEST(weighs == (all.trace.model != without.trace.model));
    }
  }
}

// It is selected, and drops out in the download at once.
BOOST_AUTO_TEST_CASE(an_unresponsive_client_drops_out_in_the_download_of_every_task) {
  for (const auto mode : {participation_mode::sync, participation_mode::async}) {
    auto settings = plain_settings();
    settings.participation->mode = mode;
    settings.participation->buffer = 3;
    settings.participation->concurrency = 6;
    settings.rounds = 10;
    const auto without = run_without(settings, 5);
    const auto& counts = without.trace.counts;
    const auto& of = without.trace.ledger[5];
    BOOST_TEST(of.selected > 0U);
    BOOST_TEST(counts.dropped[static_cast<std::size_t>(drop_stage::download)] == of.selected);
    BOOST_TEST(counts.selected == counts.folded + of.selected + without.reports.back().in_flight);
  }
}

BOOST_AUTO_TEST_CASE(with_poisson_cohorts_it_is_the_run_of_a_population_without_the_client) {
  for (const std::string kind : {"furl", "fedrecon", "fedavg"}) {
    auto settings = poisson_settings();
    *settings.algorithm = chosen_algorithm(kind);
    for (std::uint32_t client = 0; client < training_clients; ++client) {
      const auto silent = run_without(settings, client);
      const auto never = run_serially(population_without(settings, client));
      BOOST_TEST_CONTEXT(kind << " without client " << client) {
        BOOST_TEST(silent.trace.model == never.trace.model);
        BOOST_TEST(silent.trace.own == never.trace.own);
        BOOST_TEST(silent.trace.ended == never.trace.ended);
        for (std::uint32_t other = 0; other < training_clients; ++other)
          if (other != client) BOOST_TEST((silent.trace.ledger[other].folded == never.trace.ledger[other].folded));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(clients_that_are_left_out_count_in_no_group) {
  const auto e = simulated(plain_settings());
  const auto state = initial_state(e);
  storage::memory_store store(e.parts.private_);
  workspace use;
  const auto report_of = [&](std::vector<std::uint32_t> before, std::vector<std::uint32_t> after) {
    evaluation scores(e, state.last(), &store, state.ledger.get());
    scores.leave_out(std::move(before));
    for (std::size_t i = 0; i < scores.size(); ++i) BOOST_REQUIRE(scores.score(i, use));
    scores.leave_out(std::move(after));
    return scores.report();
  };
  const auto all = report_of({}, {});
  const auto never_scored = report_of({4, 9}, {4, 9});
  const auto not_counted = report_of({}, {4, 9});
  BOOST_TEST(never_scored.seen->clients == all.seen->clients - 2);
  BOOST_TEST(never_scored.seen->loss == not_counted.seen->loss);
  BOOST_TEST(never_scored.by_participation[0].clients == all.by_participation[0].clients - 2);
  BOOST_TEST(never_scored.unseen->loss == all.unseen->loss);
}

// A cohort of none, or of clients that do not report: time passes, and availability changes with it.
BOOST_AUTO_TEST_CASE(a_poisson_round_without_reports_takes_the_retry_time) {
  auto settings = plain_settings();
  settings.participation->policy = chosen_policy("poisson");
  settings.participation->rate = 1e-9;
  settings.participation->per_round = settings.participation->cap;
  settings.participation->retry = 7.0;
  const auto empty = run_serially(simulated(settings));
  BOOST_TEST(empty.trace.counts.selected == 0U);
  BOOST_TEST(empty.trace.counts.rounds_abandoned == settings.rounds);
  BOOST_TEST(empty.trace.ended == static_cast<virtual_time>(settings.rounds) * from_seconds(7.0));
  settings.participation->rate = 1.0;
  settings.events->push_back(
      {.at_round = true, .round = 1, .what = event_kind::unresponsive, .first = 0, .last = training_clients - 1});
  const auto silent = run_serially(simulated(settings));
  BOOST_TEST(silent.trace.counts.selected == training_clients * settings.rounds);
  BOOST_TEST(silent.trace.counts.folded == 0U);
  BOOST_TEST(silent.trace.ended == empty.trace.ended);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(poisson_policy)

BOOST_AUTO_TEST_CASE(each_client_takes_part_at_the_rate) {
  for (const double rate : {0.001, 0.03, 0.4, 0.95}) {
    asking run("poisson", every_third(3000), 8);
    run.e.settings.participation->rate = rate;
    run.resume();
    double chosen = 0;
    double pairs = 0;  // of neighbours: the draws are independent
    constexpr int rounds = 200;
    for (int round = 0; round < rounds; ++round) {
      const auto cohort = run.choose(4096, static_cast<std::uint64_t>(round));
      chosen += static_cast<double>(cohort.size());
      for (std::size_t i = 1; i < cohort.size(); ++i) pairs += cohort[i] == cohort[i - 1] + 3 ? 1 : 0;
    }
    const double n = 3000.0 * rounds;
    BOOST_TEST(std::abs(chosen / n - rate) < 5 * std::sqrt(rate * (1 - rate) / n));
    BOOST_TEST(std::abs(pairs / n - rate * rate) < 6 * rate * std::sqrt((1 + 2 * rate) / n));
  }
}

// Neither the number of clients nor the availability of others matters.
BOOST_AUTO_TEST_CASE(a_draw_depends_on_seed_round_and_client_alone) {
  const auto of = [](std::shared_ptr<numbered_population> clients, std::uint64_t round,
                     const asking::test& eligible = {}, std::uint32_t cap = 4096) {
    asking run("poisson", std::move(clients), 8);
    run.e.settings.participation->rate = 0.2;
    run.resume();
    return run.choose(cap, round, eligible);
  };
  const auto all = of(every_third(2000), 3);
  BOOST_TEST((of(every_third(2000), 4) != all));
  auto some = every_third(2000);
  std::erase(some->seen, all[10]);
  auto expected = all;
  std::erase(expected, all[10]);
  BOOST_TEST((of(some, 3) == expected));
  auto fewer = all;
  std::erase_if(fewer, [](auto client) { return client >= 2 + 3 * 500; });
  BOOST_TEST((of(every_third(500), 3) == fewer));
  const auto present = there(0.5, 1, 1);
  auto available = all;
  std::erase_if(available, [&](auto client) { return !present(client); });
  BOOST_TEST((of(every_third(2000), 3, present) == available));
  const auto capped = of(every_third(2000), 3, {}, 50);
  BOOST_TEST(capped.size() == 50U);
  BOOST_TEST(std::ranges::includes(all, capped));
  BOOST_TEST(std::ranges::includes(of(every_third(2000), 3, {}, 60), capped));
}

BOOST_AUTO_TEST_CASE(at_rate_one_everybody_takes_part) {
  asking run("poisson", every_third(1500), 8);
  run.e.settings.participation->rate = 1.0;
  run.resume();
  BOOST_TEST(run.choose(4096, 0).size() == 1500U);
}

BOOST_AUTO_TEST_SUITE_END()
