// Algorithms whose server values are sums of what clients keep, SCAFFOLD and FedDyn: the sum holds whatever is lost.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(exact_state)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::tests;

namespace {

constexpr std::string_view kinds[] = {"scaffold", "feddyn"};

run_settings settings_of(std::string_view kind) {
  auto settings = plain_settings();
  settings.rounds = 12;
  *settings.algorithm = chosen_algorithm(kind);
  settings.aggregation->rule = chosen_rule("uniform-mean");
  settings.own->commit = commit_kind::after_ack;
  return settings;
}

/// Lost, late and over-selected updates.
run_settings lossy(std::string_view kind) {
  auto settings = settings_of(kind);
  settings.rounds = 40;
  settings.participation->over_selection = 1.5;
  settings.participation->deadline = 3.0;
  *settings.dropout = {.download = 0.1, .train = 0.1, .upload = 0.3};
  settings.devices->speed_sigma = 1.0;
  return settings;
}

run_settings in_four_nodes(run_settings settings) {
  settings.topology->nodes = 4;
  settings.topology->aggregators = 2;
  settings.checkpoint_every = 3;
  settings.network->heartbeat = 2.0;
  settings.network->timeout = 3.0;
  settings.devices->mbit = 0.05;
  return settings;
}

experiment made(const run_settings& settings, const std::vector<std::string>& own = {}) {
  return in_a_world(make_experiment(settings, make_ratings(41), {{"item_bias", true}, {"mean", true}}, own));
}

void add(run_settings& to, double seconds, event_kind what, event_target target, std::uint32_t first,
         std::uint32_t last) {
  event_settings event;
  event.seconds = seconds;
  event.what = what;
  event.target = target;
  event.first = first;
  event.last = last;
  to.events->push_back(event);
}

struct ended {
  server_state state;
  double off = 0.0;      ///< largest distance of a server value from the mean of the clients' values
  double longest = 0.0;  ///< of the server's values
  std::string hash;      ///< of model, server values and clients' values
};

/// Compares the only server group with the only kept one, which is what clients keep after the private tensors.
ended compare(const experiment& e, const server_state& state, storage::memory_store& store) {
  ended found;
  found.state = state;
  const auto server = state.added.values();
  const auto n = static_cast<double>(e.participants->training().size());
  std::vector<double> sum(server.size(), 0.0);
  sha256_stream digest;
  digest.add(state.model.values()).add(server);
  BOOST_REQUIRE(store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters& value) {
    const auto own = value.values().last(sum.size());
    digest.add(std::uint64_t{client}).add(value.values());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    found.off = std::max(found.off, std::abs(server[i] - sum[i] / n));
    found.longest = std::max(found.longest, std::abs(double{server[i]}));
  }
  found.hash = hex(digest.finish());
  return found;
}

/// Runs to the end; killed after each of the first `losses` checkpoints, and resumed.
ended run(const experiment& e, std::uint64_t losses = 0) {
  storage::memory_store store(e.parts.private_);
  auto state = initial_state(e);
  for (std::uint64_t lost = 0;; ++lost) {
    std::optional<server_state> saved;
    run_observer observer;
    observer.on_checkpoint = [&](server_state& at) {
      saved = at;
      saved->ledger = std::make_shared<participation_ledger>(*at.ledger);
      if (at.version == e.settings.rounds || lost >= losses) return result<void>{};
      return result<void>(tl::unexpected(error{error::kind::runtime, "the power", "is lost", ""}));
    };
    const std::atomic<bool> never = false;
    auto outcome = simulate(e, std::move(state), store, observer, never);
    if (outcome) return compare(e, outcome->state, store);
    BOOST_REQUIRE_MESSAGE(outcome.error().text().starts_with("the power"), outcome.error().text());
    state = std::move(*saved);
    state.history.resume(state.version, lost + 1);
    store.resume(state.history);
  }
}

/// Equal but for rounding: of sums in fixed point, and of the server's values in each round.
void check_mean(const experiment& e, const ended& of) {
  const auto n = static_cast<double>(e.participants->training().size());
  BOOST_TEST(of.longest > 0.001);
  BOOST_TEST(of.off < n * 0x1p-30 + static_cast<double>(e.settings.rounds) * 0x1p-22 * (1.0 + of.longest));
}

/// The same run with values that wait in memory alone, as other algorithms keep them.
void check_that_memory_is_not_enough(run_settings settings, std::uint64_t losses = 0) {
  settings.algorithm->traits.exact_state = false;
  BOOST_TEST(run(made(settings), losses).off > 1e-3);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_round_of_scaffold_is_fedavg_with_uniform_weights) {
  auto settings = settings_of("scaffold");
  settings.rounds = 1;
  const auto first = run(made(settings));
  *settings.algorithm = chosen_algorithm("fedavg");
  storage::memory_store store(made(settings).parts.private_);
  const std::atomic<bool> never = false;
  const auto e = made(settings);
  const auto plain = simulate(e, initial_state(e), store, {}, never).value();
  BOOST_TEST(same_bits(first.state.model.values(), plain.state.model.values()));
}

BOOST_AUTO_TEST_CASE(the_server_has_the_mean_of_what_clients_keep) {
  for (const auto kind : kinds) {
    const auto e = made(settings_of(kind));
    const auto done = run(e);
    BOOST_TEST(done.state.counts.folded == 96U);
    check_mean(e, done);
  }
}

BOOST_AUTO_TEST_CASE(it_still_has_it_where_updates_are_lost) {
  for (const auto kind : kinds) {
    auto settings = lossy(kind);
    const auto e = made(settings);
    const auto done = run(e);
    const auto& counts = done.state.counts;
    BOOST_TEST(counts.dropped[2] > 10U);
    BOOST_TEST(counts.surplus + counts.late > 5U);
    check_mean(e, done);
    settings.own->commit = commit_kind::after_training;  // values of lost updates stay
    BOOST_TEST(run(made(settings)).off > 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(and_in_asynchronous_runs_and_beside_private_tensors) {
  for (const auto kind : kinds) {
    auto settings = lossy(kind);
    settings.participation->over_selection = 1.0;
    settings.participation->deadline = 0.0;
    settings.participation->mode = participation_mode::async;
    settings.participation->buffer = 3;
    settings.participation->concurrency = 6;
    settings.participation->weighting = staleness_kind::constant;
    const auto e = made(settings, {"user"});
    const auto done = run(e);
    BOOST_TEST(done.state.counts.staleness_sum > 0U);
    check_mean(e, done);
  }
}

// The server aggregates an update, and its client goes before the round ends: its next process has the value.
BOOST_AUTO_TEST_CASE(values_that_wait_survive_their_clients) {
  for (const auto kind : kinds) {
    auto settings = lossy(kind);
    for (int k = 0; k < 40; ++k) {
      const auto first = static_cast<std::uint32_t>(k % 2 * 8);
      add(settings, 1.3 + 2 * k, event_kind::kill, event_target::clients, first, first + 8);
      add(settings, 1.9 + 2 * k, event_kind::restart, event_target::clients, first, first + 8);
    }
    add(settings, 30.1, event_kind::leave, event_target::clients, 3, 6);
    const auto e = made(settings);
    check_mean(e, run(e));
    check_that_memory_is_not_enough(settings);
  }
}

BOOST_AUTO_TEST_CASE(values_that_wait_survive_the_processes_of_nodes) {
  for (const auto kind : kinds) {
    auto settings = in_four_nodes(settings_of(kind));
    settings.rounds = 30;
    settings.participation->deadline = 10.0;
    settings.devices->speed_sigma = 1.5;
    for (int k = 0; k < 150; ++k) {
      const auto node = static_cast<std::uint32_t>(k % 4);
      add(settings, 2.3 + 1.1 * k, event_kind::kill, event_target::nodes, node, node);
      add(settings, 2.7 + 1.1 * k, event_kind::restart, event_target::nodes, node, node);
    }
    const auto e = made(settings);
    check_mean(e, run(e));
    const auto resumed = run(e, 4);
    check_mean(e, resumed);
    BOOST_TEST(resumed.hash == run(e, 4).hash);
    check_that_memory_is_not_enough(settings);
  }
}

BOOST_AUTO_TEST_SUITE_END()
