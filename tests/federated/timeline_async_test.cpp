// Asynchronous runs in virtual time: buffers, staleness, and FedAsync by its definition.
#include <cmath>
#include <map>

#include "federated/experiment/staleness.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/timeline.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(asynchronous_runs)

using namespace furlong;
using namespace furlong::federated;
using tests::plain_settings;
using tests::recorder;
using tests::run_serially;
using tests::simulated;
using tests::total;

BOOST_AUTO_TEST_CASE(a_version_takes_a_buffer_of_updates_from_clients_that_are_always_busy) {
  auto settings = plain_settings();
  settings.rounds = 12;
  settings.participation->mode = participation_mode::async;
  settings.participation->buffer = 3;
  settings.participation->concurrency = 9;
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
  auto settings = plain_settings();
  settings.rounds = 10;
  settings.participation->mode = participation_mode::async;
  settings.participation->buffer = 1;
  settings.participation->concurrency = 1;
  const auto buffered = run_serially(simulated(settings));
  settings.participation->async = async_kind::model;
  settings.participation->mixing = 1.0;
  const auto mixed = run_serially(simulated(settings));
  BOOST_TEST(buffered.trace.counts.staleness_max == 0U);
  BOOST_TEST(buffered.trace.model == mixed.trace.model);
}

// FedAsync by its definition: w <- (1 - a) w + a w_i with a = alpha s(tau).
BOOST_AUTO_TEST_CASE(fedasync_is_its_definition) {
  auto settings = plain_settings();
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  settings.rounds = 25;
  settings.participation->mode = participation_mode::async;
  settings.participation->async = async_kind::model;
  settings.participation->buffer = 1;
  settings.participation->concurrency = 4;
  settings.participation->weighting = staleness_kind::hinge;
  settings.participation->hinge_from = 1;
  settings.participation->hinge_slope = 2;
  settings.aggregation->norm_bound = norm_bound_kind::fixed;  // the first update counts too
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
        const double a = settings.participation->mixing * staleness_weight(*settings.participation, version - base);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = (1.0 - a) * w[i] + a * own[i];
        for (std::size_t i = 0; i < w.size(); ++i)
          BOOST_REQUIRE_SMALL(w[i] - static_cast<double>(line.state().model.values()[i]), 1e-5);
        ++checked;
      }
      version = line.state().version;
      w.assign(line.state().model.values().begin(), line.state().model.values().end());
    }
    before.assign(line.state().ledger->records().begin(), line.state().ledger->records().end());
    if (*needs == run_needs::nothing) break;
    if (*needs == run_needs::evaluation) {
      line.on_evaluated({});
    } else if (*needs == run_needs::checkpoint) {
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

// A client's change enters by alpha s(tau), and the noise that hides it with it.
BOOST_AUTO_TEST_CASE(fedasync_mixes_the_noise_in_with_the_change) {
  auto settings = plain_settings();
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  settings.client->lr = 0.0F;  // nothing but noise
  *settings.privacy = {.clip = 0.5, .noise = 1.2};
  settings.aggregation->rule = chosen_rule("uniform-mean");
  settings.rounds = 1;
  settings.participation->mode = participation_mode::async;
  settings.participation->async = async_kind::model;
  settings.participation->buffer = 1;
  settings.participation->concurrency = 1;
  const auto change_with = [&](double mixing) {
    settings.participation->mixing = mixing;
    const auto e = simulated(settings);
    storage::memory_store store(e.parts.private_);
    const std::atomic<bool> stop = false;
    const run_observer quiet{};
    auto model = simulate(e, initial_state(e), store, quiet, stop).value().state.model;
    const auto first = initial_model(e);
    for (std::size_t i = 0; i < model.values().size(); ++i) model.values()[i] -= first.values()[i];
    return model;
  };
  const auto whole = change_with(1.0);
  const auto quarter = change_with(0.25);
  double squares = 0.0;
  for (std::size_t i = 0; i < whole.values().size(); ++i) {
    BOOST_REQUIRE_SMALL(static_cast<double>(quarter.values()[i] - 0.25F * whole.values()[i]), 1e-5);
    squares += static_cast<double>(whole.values()[i]) * static_cast<double>(whole.values()[i]);
  }
  const auto n = static_cast<double>(whole.values().size());
  BOOST_TEST(std::abs(squares / n / (0.6 * 0.6) - 1.0) < 5.0 * std::sqrt(2.0 / n));
}

BOOST_AUTO_TEST_CASE(too_stale_updates_are_rejected) {
  auto settings = plain_settings();
  settings.rounds = 20;
  settings.devices->speed_sigma = 1.5;
  settings.participation->mode = participation_mode::async;
  settings.participation->buffer = 1;
  settings.participation->concurrency = 10;
  settings.participation->max_staleness = 2;
  const auto made = run_serially(simulated(settings));
  BOOST_TEST(made.trace.counts.rejected[static_cast<std::size_t>(rejection::stale_version)] > 0U);
  BOOST_TEST(made.trace.counts.staleness_max == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
