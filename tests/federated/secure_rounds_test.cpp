// Whole runs with secure aggregation in virtual time, without nodes and with a simulated federation: they end with the
// model of the plain run.
#include <boost/test/unit_test.hpp>

#include "federated/settings.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(secure_rounds)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::tests;

namespace {

run_settings uniform() {
  auto s = plain_settings();
  s.rounds = 6;
  s.aggregation->rule = chosen_rule("uniform-mean");
  s.aggregation->adaptive_bound = false;
  return s;
}

run_settings secured(run_settings s, privacy::adversary_kind against = privacy::adversary_kind::semi_honest) {
  s.privacy->secure_aggregation = true;
  s.privacy->adversary = against;
  return s;
}

event_settings at(double seconds, event_kind what, event_target target, std::uint32_t first, std::uint32_t last) {
  event_settings event;
  event.seconds = seconds;
  event.what = what;
  event.target = target;
  event.first = first;
  event.last = last;
  return event;
}

std::uint64_t abandoned_rounds(const recorder& of, const std::string& why) {
  return static_cast<std::uint64_t>(std::ranges::count_if(of.trace.events, [&](const std::string& line) {
    return line.find("round-abandoned") != std::string::npos && line.find(why) != std::string::npos;
  }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(masks_change_no_model_and_no_private_value) {
  for (const char* kind : {"furl", "fedavg", "scaffold"})
    for (const std::uint32_t aggregators : {1U, 3U})
      for (const auto clock : {clock_kind::simulated, clock_kind::real}) {
        auto s = uniform();
        *s.algorithm = chosen_algorithm(kind);
        if (s.algorithm->traits.exact_state) s.own->commit = commit_kind::after_ack;
        s.topology->aggregators = aggregators;
        const auto run = [&](const run_settings& settings) {
          auto e = simulated(settings);
          if (clock == clock_kind::real) {
            e.settings.clock = clock;
            e.around = nullptr;
          }
          return run_serially(e);
        };
        const auto plain = run(s);
        const auto masked = run(secured(s));
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
  const auto plain = run_serially(simulated(s));
  const auto masked = run_serially(simulated(secured(s)));
  BOOST_TEST(masked.trace.counts.folded == 6U * 8U);
  BOOST_TEST(masked.trace.model == plain.trace.model);
}

BOOST_AUTO_TEST_CASE(the_server_learns_nothing_of_single_clients) {
  const auto masked = run_serially(simulated(secured(uniform())));
  BOOST_TEST(masked.trace.counts.folded == 6U * 8U);
  const auto fresh = participation_ledger(1)[0].loss;
  for (const auto& one : masked.trace.ledger)
    BOOST_TEST(((std::isnan(one.loss) && std::isnan(fresh)) || one.loss == fresh));
  // The sums are known: the mean loss and the number of examples.
  const auto plain = run_serially(simulated(uniform()));
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
    const auto plain = run_serially(simulated(s));
    const auto masked = run_serially(simulated(secured(s, against)));
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
  const auto masked = run_serially(simulated(secured(s)));
  const auto lost = masked.trace.counts.rounds_abandoned;
  BOOST_TEST(lost > 2U);
  BOOST_TEST(lost < 20U);
  BOOST_TEST(abandoned_rounds(masked, "secure aggregation opens the sum of at least") == lost);
  BOOST_TEST(masked.trace.counts.settled() == masked.trace.counts.selected);
  for (const auto& report : masked.reports) BOOST_TEST(report.applied == !report.gave_up);
}

/// Nothing is asked for, because nothing is to be opened.
BOOST_AUTO_TEST_CASE(a_round_with_too_few_reports_is_not_opened) {
  auto s = secured(uniform());
  s.participation->min_reports = 8;
  *s.dropout = {.download = 0.0, .train = 0.1, .upload = 0.0};
  s.rounds = 12;
  const auto masked = run_serially(simulated(s));
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
  const auto plain = run_serially(simulated(s));
  const auto masked = run_serially(simulated(secured(s)));
  BOOST_TEST(masked.trace.counts.surplus > 0U);
  BOOST_TEST(masked.trace.model == plain.trace.model);
  BOOST_TEST(masked.trace.counts.settled() + masked.reports.back().in_flight == masked.trace.counts.selected);
}

BOOST_AUTO_TEST_CASE(clients_that_do_not_answer) {
  auto s = uniform();
  s.participation->per_round = 10;
  auto mute = at(0.0, event_kind::unresponsive, event_target::clients, 2, 3);
  *s.events = {mute};
  for (const auto clock : {clock_kind::simulated, clock_kind::real}) {
    const auto run = [&](const run_settings& settings) {
      auto e = simulated(settings);
      if (clock == clock_kind::real) {
        e.settings.clock = clock;
        e.around = nullptr;
      }
      return run_serially(e);
    };
    const auto plain = run(s);
    const auto masked = run(secured(s));
    BOOST_TEST(total(masked.trace.counts.dropped) > 0U);
    BOOST_TEST(masked.trace.counts.rounds_abandoned == 0U);
    BOOST_TEST(masked.trace.model == plain.trace.model);
  }
}

/// They reported, and have no shares any more: the sum is opened with those of the others, or not at all.
BOOST_AUTO_TEST_CASE(clients_that_are_killed_after_their_report) {
  auto s = uniform();
  s.rounds = 10;
  for (double when = 0.2; when < 3.0; when += 0.3) {
    s.events->push_back(at(when, event_kind::kill, event_target::clients, 0, 3));
    s.events->push_back(at(when + 0.15, event_kind::restart, event_target::clients, 0, 3));
  }
  const auto masked = run_serially(simulated(secured(s)));
  BOOST_TEST(masked.trace.counts.settled() == masked.trace.counts.selected);
  BOOST_TEST(masked.trace.counts.folded > 0U);
  for (const auto& report : masked.reports) BOOST_TEST(report.applied == !report.gave_up);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_ends_with_the_same_model) {
  auto s = secured(uniform());
  s.checkpoint_every = 2;
  const auto whole = run_serially(simulated(s));
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
  const auto plain = run_serially(simulated(s));
  s.privacy->noise = 0.1;
  s.privacy->noise_at = noise_place::client;
  s.participation->min_reports = 7;
  const auto noisy = run_serially(simulated(s));
  BOOST_TEST(noisy.trace.counts.folded == 6U * 8U);
  BOOST_TEST(noisy.trace.model != plain.trace.model);
  BOOST_TEST(noisy.reports[0].loss == plain.reports[0].loss);  // it gets no noise
  BOOST_TEST(run_serially(simulated(s)).trace.model == noisy.trace.model);
  s.topology->nodes = 4;
  s.topology->aggregators = 2;
  BOOST_TEST(run_serially(simulated(s)).trace.model == noisy.trace.model);

  *s.dropout = {.download = 0.0, .train = 0.1, .upload = 0.0};
  s.topology->nodes = 0;
  s.rounds = 20;
  const auto lossy = run_serially(simulated(s));
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
        const auto plain = run_serially(simulated(s));
        const auto masked = run_serially(simulated(secured(s)));
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
    for (double when = 0.3; when < 4.0; when += 0.35) {
      s.events->push_back(at(when, event_kind::kill, event_target::clients, 0, 8));
      s.events->push_back(at(when + 0.1, event_kind::restart, event_target::clients, 0, 8));
    }
    const auto seen = run_serially(simulated(s));
    BOOST_TEST(seen.reports.size() == 8U);
    BOOST_TEST(seen.trace.counts.settled() + seen.reports.back().in_flight == seen.trace.counts.selected);
    for (const auto& report : seen.reports) {
      BOOST_TEST(report.applied == !report.gave_up);
      BOOST_TEST((report.gave_up || report.folded >= 4U));
    }
    dropped += total(seen.trace.counts.dropped);
  }
  BOOST_TEST(dropped > 20U);
}

// ---- with nodes ----------------------------------------------------------------------------------------------------

namespace {

run_settings with_nodes() {
  auto s = uniform();
  s.rounds = 10;
  s.topology->nodes = 4;
  s.topology->aggregators = 2;
  s.checkpoint_every = 3;
  s.network->heartbeat = 2.0;
  s.network->timeout = 3.0;
  s.devices->mbit = 0.05;
  return s;
}

recorder without_nodes(run_settings s) {
  s.privacy->secure_aggregation = false;
  s.topology->nodes = 0;
  s.topology->aggregators = 1;
  s.events->clear();
  return run_serially(simulated(s));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_federation_ends_with_the_model_of_the_plain_run) {
  for (const auto commit : {commit_kind::after_training, commit_kind::after_ack})
    for (const std::uint32_t aggregators : {1U, 2U, 5U}) {
      auto s = with_nodes();
      s.own->commit = commit;
      s.topology->aggregators = aggregators;
      s.topology->fan_in = aggregators == 5 ? 1 : 0;
      const auto plain = without_nodes(s);
      const auto seen = run_serially(simulated(secured(s)));
      BOOST_TEST(seen.trace.model == plain.trace.model);
      BOOST_TEST(seen.trace.own == plain.trace.own);
      BOOST_TEST(seen.trace.counts.folded == 10U * 8U);
      BOOST_TEST(seen.trace.counts.rounds_abandoned == 0U);
    }
}

BOOST_AUTO_TEST_CASE(aggregators_that_are_killed_change_nothing) {
  using enum event_kind;
  using enum event_target;
  const auto plain = without_nodes(with_nodes());
  for (const double when : {0.3, 0.5, 0.7, 1.1, 2.3}) {
    auto s = with_nodes();
    *s.events = {at(when, kill, aggregators, 0, 0),
                 at(when + 0.4, restart, aggregators, 0, 0),
                 at(when + 0.7, kill, aggregators, 0, 1),
                 at(when + 1.4, restart, aggregators, 0, 1),
                 at(when + 1.5, partition, nodes, 2, 2),
                 at(when + 4.0, heal, nodes, 2, 2),
                 at(when + 4.5, partition, aggregators, 1, 1),
                 at(when + 20.0, heal, aggregators, 1, 1)};
    const auto seen = run_serially(simulated(secured(s)));
    BOOST_TEST(seen.trace.model == plain.trace.model, "from " << when);
    BOOST_TEST(seen.trace.own == plain.trace.own, "from " << when);
    BOOST_TEST(total(seen.trace.counts.dropped) == 0U);
  }
}

/// Nodes lose their clients' secrets with their process: the round goes on without them, or is abandoned.
BOOST_AUTO_TEST_CASE(nodes_that_are_killed_lose_their_tasks_only) {
  using enum event_kind;
  using enum event_target;
  std::uint64_t folded = 0;
  std::uint64_t lost = 0;
  for (int i = 0; i < 24; ++i) {
    auto s = with_nodes();
    s.seed = 100 + static_cast<std::uint64_t>(i);
    const double when = 0.2 + 0.17 * i;
    const auto node = static_cast<std::uint32_t>(i % 4);
    *s.events = {at(when, kill, nodes, node, node), at(when + 0.5, restart, nodes, node, node)};
    const auto seen = run_serially(simulated(secured(s)));
    BOOST_TEST(seen.trace.counts.settled() == seen.trace.counts.selected);
    BOOST_TEST(seen.reports.size() == 10U);
    for (const auto& report : seen.reports) BOOST_TEST(report.applied == !report.gave_up);
    folded += seen.trace.counts.folded;
    lost += total(seen.trace.counts.dropped) + seen.trace.counts.abandoned;
  }
  BOOST_TEST(folded > 24U * 50U);
  BOOST_TEST(lost > 10U);
}

/// Letters take time, so that other updates fill the buffers; every process is killed in between. Nothing of an
/// exchange that was abandoned gets into a later sum: the model stays near that of the plain run.
BOOST_AUTO_TEST_CASE(asynchronous_sums_of_a_federation) {
  using enum event_kind;
  using enum event_target;
  std::uint64_t abandoned = 0;
  for (int i = 0; i < 16; ++i) {
    auto s = with_nodes();
    s.participation->mode = participation_mode::async;
    s.participation->buffer = 5;
    s.participation->concurrency = 10;
    s.seed = 200 + static_cast<std::uint64_t>(i);
    s.privacy->clip = 0.5;
    const double when = 0.3 + 0.21 * i;
    if (i > 0) {
      const auto node = static_cast<std::uint32_t>(i % 4);
      *s.events = {at(when, kill, nodes, node, node),       at(when + 0.5, restart, nodes, node, node),
                   at(when + 1.0, kill, aggregators, 0, 0), at(when + 1.6, restart, aggregators, 0, 0),
                   at(when + 2.2, partition, nodes, 0, 0),  at(when + 5.0, heal, nodes, 0, 0)};
    }
    const auto seen = run_serially(simulated(secured(s)));
    BOOST_TEST(seen.trace.counts.settled() + seen.reports.back().in_flight == seen.trace.counts.selected);
    BOOST_TEST(seen.reports.size() == 10U);
    for (const auto& report : seen.reports) {
      BOOST_TEST(report.applied == !report.gave_up);
      // Words of another exchange would be random numbers of 64 bits.
      if (report.applied) BOOST_TEST(report.change_norm <= 0.5 * 1.001);
    }
    if (i == 0) {
      BOOST_TEST(seen.trace.counts.folded == 10U * 5U);
      BOOST_TEST(seen.trace.counts.rounds_abandoned == 0U);
    }
    abandoned += seen.trace.counts.rounds_abandoned;
  }
  BOOST_TEST(abandoned < 16U * 5U);
}

BOOST_AUTO_TEST_SUITE_END()
