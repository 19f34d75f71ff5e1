// Federations in virtual time: what must hold in every one of them, and what each failure does.
#include "federated/simulation/timeline.hpp"

#include <numeric>
#include <set>

#include "federated/reference_loop.hpp"
#include "federated/staleness.hpp"
#include "tests/support/worlds.hpp"

using namespace furlong;
using namespace furlong::federated;
using tests::recorder;
using tests::run_serially;
using tests::simulated;

namespace {

/// FURL without faults: 8 of 17 clients a round.
run_settings plain() {
  run_settings s;
  s.seed = 5;
  s.rounds = 5;
  s.algorithm = algorithm_kind::furl;
  s.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
  s.participation.per_round = 8;
  return s;
}

std::uint64_t total(const auto& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

/// Drives a run a result at a time; takes jobs `ahead` of need, and hands their results back last first.
recorder run_ahead(const experiment& e, std::size_t ahead) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  const auto observer = made.observer();
  timeline line(e, initial_state(e), store, observer);
  workspace use;
  std::vector<training_job> taken;
  for (;;) {
    const auto needs = line.advance();
    BOOST_REQUIRE(needs);
    if (*needs == timeline_needs::nothing) break;
    if (*needs == timeline_needs::training) {
      line.take_jobs(ahead, taken);
      for (; !taken.empty(); taken.pop_back()) {
        perform(e, store, taken.back(), use);
        line.on_trained(std::move(taken.back()));
      }
      continue;
    }
    if (*needs == timeline_needs::evaluation)
      line.on_evaluated({});
    else
      BOOST_REQUIRE(line.on_checkpointed());
  }
  made.finish({line.snapshot(), {}, line.interrupted()}, store);
  return made;
}

/// A run in lives: killed after every round, resumed from the last checkpoint, the store as a crash leaves it.
recorder run_in_lives(experiment e) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  auto state = initial_state(e);
  for (int life = 0;; ++life) {
    BOOST_REQUIRE(life < 100);
    std::atomic<bool> stop = false;
    auto observer = made.observer();
    const auto on_round = observer.on_round;
    int rounds = 0;
    observer.on_round = [&](const round_report& report) {
      if (++rounds == 1 + life % 3) stop = true;
      return on_round(report);
    };
    auto outcome = simulate(e, std::move(state), store, observer, stop);
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome.has_value() ? std::string() : outcome.error().text()));
    if (!outcome->interrupted) {
      made.finish(*outcome, store);
      return made;
    }
    // Somebody goes on after the checkpoint, and then the power fails.
    state = *made.checkpoint;
    state.ledger = std::make_shared<participation_ledger>(*made.checkpoint->ledger);
    auto lost = made.observer();
    lost.on_checkpoint = nullptr;
    int more = 0;
    lost.on_round = [&](const round_report&) -> result<void> {
      if (++more == 2) return fail(error::kind::runtime, "power", "is gone");
      return {};
    };
    lost.on_event = nullptr;
    auto resumed_for_nothing = state;
    resumed_for_nothing.ledger = std::make_shared<participation_ledger>(*state.ledger);
    class uncovered final : public private_store {  // whose checkpoints are never durable
     public:
      explicit uncovered(private_store& inner) : inner_(inner) {}
      result<bool> load(std::uint32_t c, models::private_parameters& out) override { return inner_.load(c, out); }
      result<void> commit(std::uint32_t c, std::uint64_t v, const models::private_parameters& value) override {
        return inner_.commit(c, v, value);
      }
      result<void> sync() override { return fail(error::kind::runtime, "disk", "is full"); }
      void covered(std::uint64_t) override {}
      result<bool> erase(std::uint32_t) override { return false; }
      result<void> visit(
          const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
        return inner_.visit(each);
      }

     private:
      private_store& inner_;
    } half_way(store);
    if (state.simulation.erasures.empty()) {
      const std::atomic<bool> never = false;
      static_cast<void>(simulate(e, std::move(resumed_for_nothing), half_way, lost, never));
    }
    state.history.resumed_at.push_back(state.version);
    store.resume(state.history);
    made.cut_back();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timelines)

BOOST_AUTO_TEST_CASE(without_deadlines_virtual_time_changes_no_bit) {
  for (const auto kind : {algorithm_kind::fedavg, algorithm_kind::furl, algorithm_kind::fedrecon})
    for (const auto policy : {policy_kind::uniform, policy_kind::weight, policy_kind::round_robin,
                              policy_kind::least_recent, policy_kind::power_of_choice}) {
      auto settings = plain();
      settings.algorithm = kind;
      settings.participation.policy = policy;
      settings.aggregators = 2;
      const auto e = simulated(settings);
      const auto made = run_serially(e);
      storage::memory_store store(e.parts.private_);
      const run_observer quiet{[](const auto&) { return result<void>{}; }, [](const auto&) { return result<void>{}; },
                               nullptr, nullptr};
      const auto expected = run_reference(e, store, quiet).value();
      recorder reference;
      reference.finish(expected, store);
      BOOST_TEST(made.trace.model == reference.trace.model);
      BOOST_TEST(made.trace.own == reference.trace.own);
      BOOST_TEST((made.trace.counts == expected.state.counts));
      BOOST_TEST(made.trace.ended > 0);
    }
}

// Bar: selected = folded + rejected + late + surplus + dropped + abandoned + in flight, whatever happens.
BOOST_AUTO_TEST_CASE(the_accounts_balance_in_200_random_worlds) {
  protocol::accounting all;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    BOOST_TEST_CONTEXT("trial " << trial) {
      const auto made = run_serially(simulated(tests::random_settings(trial)));
      const auto& counts = made.trace.counts;
      std::uint64_t folded = 0;
      std::uint64_t settled = 0;
      std::uint64_t selected = 0;
      for (const auto& r : made.reports) {
        folded += r.folded;
        selected += r.selected;
        settled += r.folded + r.rejected + r.late + r.surplus + total(r.dropped) + r.abandoned;
        BOOST_TEST(selected == settled + r.in_flight);
        BOOST_TEST(r.began_at <= r.ended_at);
      }
      BOOST_TEST(counts.folded == folded);
      BOOST_TEST(counts.selected == selected);
      BOOST_TEST(counts.settled() == settled);
      BOOST_TEST(counts.selected == counts.folded + total(counts.rejected) + counts.late + counts.surplus +
                                        total(counts.dropped) + counts.abandoned + counts.in_flight());
      std::uint64_t by_client = 0;
      std::uint64_t asked = 0;
      for (const auto& record : made.trace.ledger) by_client += record.folded, asked += record.selected;
      BOOST_TEST(by_client == folded);
      BOOST_TEST(asked == selected);
      all.folded += counts.folded;
      all.late += counts.late;
      all.surplus += counts.surplus;
      all.abandoned += counts.abandoned;
      for (std::size_t i = 0; i < all.dropped.size(); ++i) all.dropped[i] += counts.dropped[i];
      for (std::size_t i = 0; i < all.rejected.size(); ++i) all.rejected[i] += counts.rejected[i];
      all.rounds_abandoned += counts.rounds_abandoned;
    }
  }
  // The worlds were not tame.
  BOOST_TEST(all.folded > 1000U);
  for (const auto n : {all.late, all.surplus, all.abandoned, all.dropped[0], all.dropped[1], all.dropped[2],
                       total(all.rejected), all.rounds_abandoned})
    BOOST_TEST(n > 20U);
}

BOOST_AUTO_TEST_CASE(it_does_not_matter_how_far_ahead_training_is_done) {
  for (std::uint64_t trial = 0; trial < 60; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      const auto e = simulated(tests::random_settings(trial));
      const auto expected = run_ahead(e, 1);
      for (const std::size_t ahead : {3, 1000}) tests::check_same(run_ahead(e, ahead).trace, expected.trace);
      tests::check_same(run_serially(e).trace, expected.trace);
    }
}

BOOST_AUTO_TEST_CASE(it_does_not_matter_how_many_aggregators_there_are) {
  for (std::uint64_t trial = 0; trial < 40; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      auto settings = tests::random_settings(trial);
      settings.aggregators = 1;
      const auto expected = run_serially(simulated(settings));
      settings.aggregators = 4;
      tests::check_same(run_serially(simulated(settings)).trace, expected.trace);
    }
}

BOOST_AUTO_TEST_CASE(killed_and_resumed_equals_uninterrupted) {
  for (std::uint64_t trial = 0; trial < 80; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      auto settings = tests::random_settings(trial);
      settings.rounds += 3;
      const auto e = simulated(settings);
      tests::check_same(run_in_lives(e).trace, run_serially(e).trace);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(rounds_in_virtual_time)

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_round_and_what_comes_after_it_is_late) {
  auto settings = plain();
  settings.devices.speed_sigma = 1.5;
  settings.participation.deadline = 0.3;
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.late > 0U);
  BOOST_TEST(made.trace.counts.surplus == 0U);
  for (const auto& r : made.reports) BOOST_TEST(r.ended_at - r.began_at <= from_seconds(0.3));
}

BOOST_AUTO_TEST_CASE(over_selection_takes_the_fastest_and_the_rest_is_surplus) {
  auto settings = plain();
  settings.participation.per_round = 5;
  settings.participation.over_selection = 2.0;
  const auto made = run_serially(simulated(settings));
  for (const auto& r : made.reports) BOOST_TEST(r.folded == 5U);
  BOOST_TEST(made.trace.counts.surplus > 0U);
  BOOST_TEST(made.trace.counts.late == 0U);
  BOOST_TEST(made.reports[0].selected == 10U);
}

BOOST_AUTO_TEST_CASE(too_few_reports_abandon_a_round_and_the_model_stays) {
  auto settings = plain();
  settings.rounds = 1;
  settings.devices.speed_sigma = 1.5;
  settings.participation.deadline = 0.3;
  settings.participation.min_reports = 8;
  const auto e = simulated(settings);
  const auto made = run_serially(e);
  BOOST_TEST(made.reports[0].gave_up);
  BOOST_TEST(made.trace.counts.rounds_abandoned == 1U);
  BOOST_TEST(made.trace.counts.folded == 0U);
  BOOST_TEST(made.trace.counts.abandoned > 0U);
  BOOST_TEST(made.trace.model == hex(model_sha256(initial_model(e))));
}

// What a failure does to private values: with "after-training" they are kept once training has ended, with "after-ack"
// only when the update went into a model.
BOOST_AUTO_TEST_CASE(private_values_follow_commit) {
  for (const auto commit : {commit_kind::after_training, commit_kind::after_ack}) {
    auto settings = plain();
    settings.own.commit = commit;
    settings.dropout = {.upload = 1.0};  // all train, nobody reports
    settings.rounds = 2;
    const auto lost_upload = run_serially(simulated(settings));
    std::uint64_t kept = 0;
    for (const auto& r : lost_upload.trace.ledger) kept += r.trained_version > 0 ? 1 : 0;
    BOOST_TEST((kept > 0) == (commit == commit_kind::after_training));
    BOOST_TEST(lost_upload.trace.counts.dropped[2] == 16U);

    settings.dropout = {.train = 1.0};  // nobody gets through training
    const auto lost_training = run_serially(simulated(settings));
    for (const auto& r : lost_training.trace.ledger) BOOST_TEST(r.trained_version == 0U);

    settings.dropout = {};
    settings.participation.deadline = 1e-6;  // everybody is late
    const auto late = run_serially(simulated(settings));
    kept = 0;
    for (const auto& r : late.trace.ledger) kept += r.trained_version > 0 ? 1 : 0;
    BOOST_TEST((kept > 0) == (commit == commit_kind::after_training && late.trace.counts.late > 0));
  }
}

BOOST_AUTO_TEST_CASE(clients_join_leave_and_return) {
  auto settings = plain();
  settings.rounds = 6;
  settings.participation.per_round = 3;
  settings.events = {{.at_round = true, .round = 3, .what = event_kind::join, .first = 10, .last = 16},
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
  auto settings = plain();
  settings.participation.per_round = 17;
  settings.rounds = 4;
  settings.events = {{.at_round = true, .round = 4, .what = event_kind::leave, .first = 2, .last = 5, .erase = true}};
  settings.participation.min_reports = 1;
  const auto e = simulated(settings);
  storage::memory_store store(e.parts.private_);
  recorder made;
  const auto observer = made.observer();
  const std::atomic<bool> stop = false;
  settings.rounds = 5;
  BOOST_REQUIRE(simulate(e, initial_state(e), store, observer, stop));
  std::set<std::uint32_t> stored;
  BOOST_REQUIRE(store.visit([&](std::uint32_t client, auto, const auto&) { stored.insert(client); }));
  for (std::uint32_t client = 1; client < 17; ++client)
    BOOST_TEST(stored.contains(client) == (client < 2 || client > 5));
}

BOOST_AUTO_TEST_CASE(a_partition_delays_reports_and_training_goes_on) {
  auto settings = plain();
  settings.rounds = 1;
  settings.participation.per_round = 17;
  const auto usual = run_serially(simulated(settings));
  settings.events = {{.seconds = 0.0, .what = event_kind::heal, .first = 0, .last = 0},
                     {.seconds = 0.001, .what = event_kind::partition, .first = 0, .last = 16},
                     {.seconds = 1000, .what = event_kind::heal, .first = 0, .last = 16}};
  const auto cut = run_serially(simulated(settings));
  BOOST_TEST(cut.trace.model == usual.trace.model);
  BOOST_TEST(cut.trace.ended >= from_seconds(1000));
  BOOST_TEST(cut.trace.ended < from_seconds(1000) + usual.trace.ended);
}

BOOST_AUTO_TEST_CASE(a_partition_for_ever_without_a_deadline_is_an_error_that_says_so) {
  auto settings = plain();
  settings.events = {{.seconds = 0.001, .what = event_kind::partition, .first = 0, .last = 16}};
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
  auto settings = plain();
  settings.rounds = 3;
  settings.events = {{.seconds = 0.0, .what = event_kind::leave, .share = 1.0},
                     {.at_round = true, .round = 1, .what = event_kind::leave, .share = 1.0}};
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.rounds_abandoned == 3U);
  BOOST_TEST(made.trace.counts.selected == 0U);
}

BOOST_AUTO_TEST_CASE(pace_steering_keeps_clients_away_for_a_while) {
  auto settings = plain();
  settings.rounds = 12;
  settings.participation.per_round = 8;
  settings.participation.reconnect_least = 50;
  settings.participation.reconnect_most = 60;
  settings.participation.retry = 10;
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.selected > 24U);
  BOOST_TEST(made.trace.ended > from_seconds(150));  // 17 clients, about one task a minute each
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(asynchronous_runs)

BOOST_AUTO_TEST_CASE(a_version_takes_a_buffer_of_updates_from_clients_that_are_always_busy) {
  auto settings = plain();
  settings.rounds = 12;
  settings.participation.mode = participation_mode::async;
  settings.participation.buffer = 3;
  settings.participation.concurrency = 9;
  const auto made = run_serially(simulated(settings));
  for (const auto& r : made.reports) {
    BOOST_TEST(r.folded == 3U);
    BOOST_TEST(total(r.staleness) == 3U);
    BOOST_TEST(r.in_flight >= 8U);  // the one whose report closed the buffer is replaced in the next version
  }
  BOOST_TEST(made.trace.counts.staleness_max > 0U);
}

// With one client at work nothing is ever stale: FedAsync with alpha = 1 is then FedBuff with a buffer of one.
BOOST_AUTO_TEST_CASE(one_client_at_a_time_is_never_stale) {
  auto settings = plain();
  settings.rounds = 10;
  settings.participation.mode = participation_mode::async;
  settings.participation.buffer = 1;
  settings.participation.concurrency = 1;
  const auto buffered = run_serially(simulated(settings));
  settings.participation.async = async_kind::model;
  settings.participation.mixing = 1.0;
  const auto mixed = run_serially(simulated(settings));
  BOOST_TEST(buffered.trace.counts.staleness_max == 0U);
  BOOST_TEST(buffered.trace.model == mixed.trace.model);
}

// FedAsync by its definition: w <- (1 - a) w + a w_i with a = alpha s(tau).
BOOST_AUTO_TEST_CASE(fedasync_is_its_definition) {
  auto settings = plain();
  settings.algorithm = algorithm_kind::fedavg;
  settings.rounds = 25;
  settings.participation.mode = participation_mode::async;
  settings.participation.async = async_kind::model;
  settings.participation.buffer = 1;
  settings.participation.concurrency = 4;
  settings.participation.weighting = staleness_kind::hinge;
  settings.participation.hinge_from = 1;
  settings.participation.hinge_slope = 2;
  const auto e = simulated(settings);
  storage::memory_store store(e.parts.private_);
  recorder made;
  const auto observer = made.observer();
  timeline line(e, initial_state(e), store, observer);
  workspace use;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::vector<float>>> sent;  // by client: version and its own model
  std::map<std::uint64_t, std::vector<double>> versions;
  std::vector<training_job> jobs;
  std::vector<std::pair<std::uint64_t, std::vector<float>>> arrived;
  std::size_t checked = 0;
  std::vector<double> w(line.state().model.values().begin(), line.state().model.values().end());
  std::vector<client_record> before(line.state().ledger->records().begin(), line.state().ledger->records().end());
  std::uint64_t version = 0;
  for (;;) {
    const auto needs = line.advance();
    BOOST_REQUIRE(needs);
    // Exactly one update makes each version, and jobs are taken one by one: at most one version was made meanwhile.
    if (line.state().version != version) {
      BOOST_REQUIRE(line.state().version == version + 1);
      for (std::uint32_t client = 0; client < before.size(); ++client) {
        if ((*line.state().ledger)[client].folded == before[client].folded) continue;
        const auto& [base, own] = sent.at(client);
        const double a = settings.participation.mixing * staleness_weight(settings.participation, version - base);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = (1.0 - a) * w[i] + a * own[i];
        for (std::size_t i = 0; i < w.size(); ++i)
          BOOST_REQUIRE_SMALL(w[i] - static_cast<double>(line.state().model.values()[i]), 1e-5);
        ++checked;
      }
      version = line.state().version;
      w.assign(line.state().model.values().begin(), line.state().model.values().end());
    }
    before.assign(line.state().ledger->records().begin(), line.state().ledger->records().end());
    if (*needs == timeline_needs::nothing) break;
    if (*needs == timeline_needs::evaluation) {
      line.on_evaluated({});
    } else if (*needs == timeline_needs::checkpoint) {
      BOOST_REQUIRE(line.on_checkpointed());
    } else {
      line.take_jobs(1, jobs);
      auto& job = jobs.back();
      perform(e, store, job, use);
      auto own = job.from->model;
      const auto change = models::to_dense(job.update.change);
      for (std::size_t i = 0; i < own.values().size(); ++i) own.values()[i] += change.values[i];
      sent[job.id.client] = {job.id.version, {own.values().begin(), own.values().end()}};
      line.on_trained(std::move(job));
      jobs.clear();
    }
  }
  BOOST_TEST(checked == 25U);
  BOOST_TEST(line.state().counts.staleness_max > 1U);
}

BOOST_AUTO_TEST_CASE(too_stale_updates_are_rejected) {
  auto settings = plain();
  settings.rounds = 20;
  settings.devices.speed_sigma = 1.5;
  settings.participation.mode = participation_mode::async;
  settings.participation.buffer = 1;
  settings.participation.concurrency = 10;
  settings.participation.max_staleness = 2;
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.rejected[static_cast<std::size_t>(rejection::stale_version)] > 0U);
  BOOST_TEST(made.trace.counts.staleness_max <= 2U);
}

BOOST_AUTO_TEST_SUITE_END()
