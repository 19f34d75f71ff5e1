// Whole runs with secure aggregation in virtual time, without nodes: they end with the model of the plain run.
#include <boost/test/unit_test.hpp>

#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "tests/federated/secure_worlds.hpp"

BOOST_AUTO_TEST_SUITE(secure_rounds)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::testing;
using namespace furlong::tests;

BOOST_AUTO_TEST_CASE(masks_change_no_model_and_no_private_value) {
  for (const char* kind : {"furl", "fedavg", "scaffold", "pfedrec", "ials", "ials-differences"})
    for (const std::uint32_t aggregators : {1U, 3U})
      for (const auto clock : {clock_kind::simulated, clock_kind::real}) {
        auto s = uniform();
        *s.algorithm = chosen_algorithm(kind);
        if (s.algorithm->traits.exact_state) s.own->commit = commit_kind::after_ack;
        s.topology->aggregators = aggregators;
        const auto plain = run(s, clock);
        const auto masked = run(secured(s), clock);
        BOOST_TEST(masked.trace.model == plain.trace.model, kind);
        BOOST_TEST(masked.trace.own == plain.trace.own, kind);
        BOOST_TEST(masked.trace.counts.folded == plain.trace.counts.folded);
        BOOST_TEST(masked.trace.counts.rounds_abandoned == 0U);
      }
}

/// The bound moves, and a client that was clipped says so in a masked tensor.
BOOST_AUTO_TEST_CASE(masks_hide_what_moves_the_clipping_bound) {
  auto s = uniform();
  s.privacy->clip = 0.05;
  s.privacy->clip_quantile = 0.5;
  const auto plain = run(s);
  const auto masked = run(secured(s));
  BOOST_TEST(masked.trace.counts.folded == 6U * 8U);
  BOOST_TEST(masked.trace.model == plain.trace.model);
}

BOOST_AUTO_TEST_CASE(the_server_learns_nothing_of_single_clients) {
  const auto masked = run(secured(uniform()));
  BOOST_TEST(masked.trace.counts.folded == 6U * 8U);
  const auto fresh = participation_ledger(1)[0].loss;
  for (const auto& one : masked.trace.ledger)
    BOOST_TEST(((std::isnan(one.loss) && std::isnan(fresh)) || one.loss == fresh));
  // The sums are known: the mean loss and the number of examples.
  const auto plain = run(uniform());
  for (std::size_t i = 0; i < plain.reports.size(); ++i) {
    BOOST_TEST(masked.reports[i].loss == plain.reports[i].loss);
    BOOST_TEST(masked.reports[i].examples == plain.reports[i].examples);
  }
}

/// The plain run has the same fates: their updates are those that are aggregated.
BOOST_AUTO_TEST_CASE(clients_that_drop_out_are_left_out_of_the_sum) {
  auto s = uniform();
  s.rounds = 20;
  s.participation->per_round = 12;
  *s.dropout = {.download = 0.03, .train = 0.03, .upload = 0.03};
  for (const auto against : {privacy::adversary_kind::semi_honest, privacy::adversary_kind::semi_malicious}) {
    const auto plain = run(s);
    const auto masked = run(secured(s, against));
    BOOST_TEST(total(masked.trace.counts.dropped) > 8U);
    BOOST_TEST(masked.trace.counts.rounds_abandoned == 0U);
    BOOST_TEST(masked.trace.model == plain.trace.model);
    for (const auto& report : masked.reports) {
      BOOST_TEST(report.sent_keys <= 12U);
      BOOST_TEST(report.folded >= report.sent_keys - report.sent_keys / 3);
    }
    BOOST_TEST(plain.reports.front().sent_keys == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_round_with_too_many_dropouts_is_abandoned) {
  auto s = uniform();
  s.rounds = 20;
  *s.dropout = {.download = 0.0, .train = 0.3, .upload = 0.0};
  const auto masked = run(secured(s));
  const auto lost = masked.trace.counts.rounds_abandoned;
  BOOST_TEST(lost > 2U);
  BOOST_TEST(lost < 20U);
  BOOST_TEST(abandoned_rounds(masked, "secure aggregation opens the sum of at least") == lost);
  check_accounts(masked);
}

/// Nothing is asked for, because nothing is to be opened.
BOOST_AUTO_TEST_CASE(a_round_with_too_few_reports_is_not_opened) {
  auto s = secured(uniform());
  s.participation->min_reports = 8;
  *s.dropout = {.download = 0.0, .train = 0.1, .upload = 0.0};
  s.rounds = 12;
  const auto masked = run(s);
  BOOST_TEST(masked.trace.counts.rounds_abandoned > 2U);
  BOOST_TEST(masked.trace.counts.rounds_abandoned < 12U);
  BOOST_TEST(abandoned_rounds(masked, "of at least 8 reports") == masked.trace.counts.rounds_abandoned);
  // Requests and answers would be bytes of the round.
  std::uint64_t opened = 0;
  for (const auto& report : masked.reports)
    if (report.folded == 8) opened = std::max(opened, report.bytes_down);
  for (const auto& report : masked.reports)
    if (report.gave_up) BOOST_TEST(report.bytes_down < opened);
}

BOOST_AUTO_TEST_CASE(over_selection_and_deadlines) {
  auto s = uniform();
  s.rounds = 12;
  s.devices->speed_sigma = 1.0;
  s.participation->per_round = 8;
  s.participation->over_selection = 1.25;
  const auto plain = run(s);
  const auto masked = run(secured(s));
  BOOST_TEST(masked.trace.counts.surplus > 0U);
  BOOST_TEST(masked.trace.model == plain.trace.model);
  check_accounts(masked);
}

BOOST_AUTO_TEST_CASE(clients_that_do_not_answer) {
  auto s = uniform();
  s.participation->per_round = 10;
  *s.events = {at(0.0, event_kind::unresponsive, event_target::clients, 2, 3)};
  for (const auto clock : {clock_kind::simulated, clock_kind::real}) {
    const auto plain = run(s, clock);
    const auto masked = run(secured(s), clock);
    BOOST_TEST(total(masked.trace.counts.dropped) > 0U);
    BOOST_TEST(masked.trace.counts.rounds_abandoned == 0U);
    BOOST_TEST(masked.trace.model == plain.trace.model);
  }
}

/// They reported, and have no shares any more: the sum is opened with those of the others, or not at all.
BOOST_AUTO_TEST_CASE(clients_that_are_killed_after_their_report) {
  auto s = uniform();
  s.rounds = 10;
  kill_clients(s, 3, 0.2, 3.0, 0.3, 0.15);
  const auto masked = run(secured(s));
  BOOST_TEST(masked.trace.counts.folded > 0U);
  check_accounts(masked);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_ends_with_the_same_model) {
  auto s = secured(uniform());
  s.checkpoint_every = 2;
  const auto whole = run(s);
  const auto e = simulated(s);
  recorder made;
  storage::memory_store store(e.parts.private_);
  std::atomic<bool> stop = false;
  auto observer = made.observer();
  const auto on_round = observer.on_round;
  observer.on_round = [&](const round_report& report) {
    stop = report.version == 2;
    return on_round(report);
  };
  const auto first = simulate(e, initial_state(e), store, observer, stop);
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->interrupted);
  auto state = *made.checkpoint;
  const std::atomic<bool> never = false;
  auto rest = simulate(e, std::move(state), store, made.observer(), never);
  BOOST_REQUIRE(rest.has_value());
  made.finish(*rest, store);
  BOOST_TEST(made.trace.model == whole.trace.model);
}

/// Their noise is masked with their updates; a round that lacks shares of it is not opened.
BOOST_AUTO_TEST_CASE(noise_of_clients_is_in_the_sum) {
  auto s = secured(uniform());
  s.privacy->clip = 0.5;
  const auto plain = run(s);
  s.privacy->noise = 0.1;
  s.privacy->noise_at = noise_place::client;
  s.participation->min_reports = 7;
  const auto noisy = run(s);
  BOOST_TEST(noisy.trace.counts.folded == 6U * 8U);
  BOOST_TEST(noisy.trace.model != plain.trace.model);
  BOOST_TEST(noisy.reports[0].loss == plain.reports[0].loss);  // it gets no noise
  BOOST_TEST(run(s).trace.model == noisy.trace.model);
  s.topology->nodes = 4;
  s.topology->aggregators = 2;
  BOOST_TEST(run(s).trace.model == noisy.trace.model);

  *s.dropout = {.download = 0.0, .train = 0.1, .upload = 0.0};
  s.topology->nodes = 0;
  s.rounds = 20;
  const auto lossy = run(s);
  BOOST_TEST(lossy.trace.counts.rounds_abandoned > 1U);
  BOOST_TEST(abandoned_rounds(lossy, "of at least 7 reports") == lossy.trace.counts.rounds_abandoned);
  for (const auto& report : lossy.reports) BOOST_TEST(report.applied == (report.folded >= 7));
}

// ---- asynchronous --------------------------------------------------------------------------------------------------

namespace {

run_settings buffered() {
  auto s = uniform();
  s.rounds = 12;
  s.participation->mode = participation_mode::async;
  s.participation->buffer = 5;
  s.participation->concurrency = 9;
  s.participation->weighting = staleness_kind::polynomial;
  s.devices->speed_sigma = 1.0;
  return s;
}

}  // namespace

/// The members of a sum are those whose updates fill the plain run's buffer, at the same time. Clients apply the
/// weights of staleness.
BOOST_AUTO_TEST_CASE(buffers_are_those_of_the_plain_run) {
  for (const char* kind : {"furl", "fedavg"})
    for (const std::uint32_t aggregators : {1U, 3U})
      for (const double lost : {0.0, 0.1}) {
        auto s = buffered();
        *s.algorithm = chosen_algorithm(kind);
        s.topology->aggregators = aggregators;
        *s.dropout = {.download = lost, .train = lost, .upload = lost};
        const auto plain = run(s);
        const auto masked = run(secured(s));
        BOOST_TEST(plain.trace.counts.staleness_sum > 0U);
        BOOST_TEST(masked.trace.model == plain.trace.model, kind);
        BOOST_TEST(masked.trace.own == plain.trace.own, kind);
        BOOST_TEST(masked.trace.counts.folded == 12U * 5U);
        BOOST_TEST(masked.trace.counts.staleness_sum == plain.trace.counts.staleness_sum);
        BOOST_TEST(masked.trace.counts.rounds_abandoned == 0U);
        BOOST_TEST((lost > 0) == (total(masked.trace.counts.dropped) > 0U));
      }
}

/// Clients that are killed while they wait for others take their updates with them; a sum that loses too many of its
/// clients is abandoned.
BOOST_AUTO_TEST_CASE(clients_that_wait_and_are_killed) {
  std::uint64_t dropped = 0;
  for (int i = 0; i < 12; ++i) {
    auto s = secured(buffered());
    s.seed = 50 + static_cast<std::uint64_t>(i);
    s.rounds = 8;
    kill_clients(s, 8, 0.3, 4.0, 0.35, 0.1);
    const auto seen = run(s);
    BOOST_TEST(seen.reports.size() == 8U);
    check_accounts(seen);
    for (const auto& report : seen.reports) BOOST_TEST((report.gave_up || report.folded >= 4U));
    dropped += total(seen.trace.counts.dropped);
  }
  BOOST_TEST(dropped > 20U);
}

BOOST_AUTO_TEST_SUITE_END()
