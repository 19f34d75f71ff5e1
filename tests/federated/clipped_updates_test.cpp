// Whole runs with norm_bound = "clip": honest clients are never refused, and nothing without a limit is in a model.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/client/client_work.hpp"
#include "federated/experiment/quantization.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/memory_store.hpp"
#include "tests/federated/rounded_experiment.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(clipped_updates)

using namespace furlong;
using federated::norm_bound_kind;
using federated::number_format;
using tests::same_bits;

namespace {

const auto clients = tests::make_ratings(40);

federated::run_settings settings_of(std::string_view kind, norm_bound_kind bound) {
  federated::run_settings settings;
  settings.rounds = 12;
  *settings.algorithm = federated::chosen_algorithm(kind);
  *settings.client = {.lr = 0.05F, .epochs = 2, .batch_size = 3};
  settings.aggregation->norm_bound = bound;
  settings.participation->per_round = 10;
  return settings;
}

federated::experiment experiment_of(const federated::run_settings& settings) {
  return tests::rounded_experiment(settings, clients);
}

struct ended_run {
  std::vector<federated::round_report> rounds;
  federated::server_state state;

  explicit ended_run(const federated::run_settings& settings) {
    const auto e = experiment_of(settings);
    storage::memory_store store(e.parts.private_);
    federated::run_observer observer;
    observer.on_round = [&](const federated::round_report& report) {
      rounds.push_back(report);
      return result<void>();
    };
    auto outcome = federated::run_reference(e, store, observer);
    BOOST_REQUIRE(outcome);
    state = std::move(outcome->state);
  }
  [[nodiscard]] std::uint64_t refused() const {
    std::uint64_t all = 0;
    for (const auto count : state.counts.rejected) all += count;
    return all;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_honest_update_is_refused_whatever_the_algorithm_and_the_rounding) {
  for (const auto* kind : {"fedavg", "furl", "fedrecon", "ditto", "apfl"})
    for (const auto numbers : {number_format::float32, number_format::float16, number_format::int8}) {
      auto settings = settings_of(kind, norm_bound_kind::clip);
      settings.network->compression.numbers = numbers;
      const ended_run run(settings);
      BOOST_TEST(run.refused() == 0U, kind << ' ' << federated::to_string(numbers));
      BOOST_TEST(run.rounds.front().gave_up);
      BOOST_TEST(run.rounds.front().abandoned == 10U);
      for (std::size_t i = 1; i < run.rounds.size(); ++i) BOOST_TEST(run.rounds[i].applied);
    }
}

BOOST_AUTO_TEST_CASE(clipping_changes_updates_and_adaptive_limits_do_not) {
  const ended_run clip(settings_of("fedavg", norm_bound_kind::clip));
  const ended_run adaptive(settings_of("fedavg", norm_bound_kind::adaptive));
  const ended_run fixed(settings_of("fedavg", norm_bound_kind::fixed));
  BOOST_TEST(same_bits(adaptive.state.model.values(), fixed.state.model.values()));
  BOOST_TEST(!same_bits(clip.state.model.values(), fixed.state.model.values()));
}

// With few clients in a round the first versions cannot tell how large an update may be.
BOOST_AUTO_TEST_CASE(the_first_versions_of_tiny_cohorts_only_measure) {
  for (const auto bound : {norm_bound_kind::clip, norm_bound_kind::adaptive}) {
    auto settings = settings_of("fedavg", bound);
    for (const std::uint32_t clients_a_round : {1U, 2U}) {
      settings.participation->per_round = clients_a_round;
      const ended_run run(settings);
      // Adaptive: two updates can be compared with each other.
      const std::size_t measured =
          bound == norm_bound_kind::clip ? (clients_a_round == 1 ? 5 : 3) : (clients_a_round == 1 ? 1 : 0);
      for (std::size_t i = 0; i < run.rounds.size(); ++i) BOOST_TEST(run.rounds[i].applied == (i >= measured));
      BOOST_TEST(run.refused() == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_update_that_started_before_a_limit_was_known_adds_nothing) {
  const auto settings = settings_of("fedavg", norm_bound_kind::clip);
  const auto e = experiment_of(settings);
  const auto state = federated::initial_state(e);
  auto from = federated::make_broadcast(e, state);
  federated::workspace use;
  const auto folded = [&](const federated::update_limits& limits) {
    from.limits = limits;
    federated::client_update update;
    static_cast<void>(federated::client_work(e, from, {e.run, 0, 9, 0}, false, use, update));
    const auto sum = federated::make_accumulator(e, state.reference);
    auto made = federated::settlement_of(e, update);
    BOOST_TEST(!federated::aggregate_update(e, update, {.limits = limits}, 1.0, *sum, made));
    BOOST_TEST(made.size.norm != 0);
    return sum->count();
  };
  BOOST_TEST(folded({}) == 0U);
  BOOST_TEST(folded({.norm = 200, .row = 200}) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
