// Adaptive clipping: what clients say, where the bound goes, and what it costs.
#include "federated/privacy/clipping.hpp"

#include "federated/aggregation/accumulator.hpp"
#include "federated/client/client_work.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/privacy/gaussian.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "federated/state/broadcasts.hpp"
#include "models/kernels/kernels.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(adaptive_clipping)

using namespace furlong;
using namespace furlong::federated;

namespace {

run_settings adaptive(double bound, const std::string& kind = "fedavg") {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm(kind);
  settings.aggregation->rule = chosen_rule("uniform-mean");
  settings.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  *settings.privacy = {.clip = bound, .clip_quantile = 0.5};
  return settings;
}

client_update update_of(const experiment& e, const server_state& state, std::uint32_t client) {
  workspace use;
  client_update made;
  client_work(e, make_broadcast(e, state), {e.run, state.version, client, 0}, false, use, made);
  return made;
}

/// Of the model's tensors and all reported ones but what clients say of their norm.
double norm_of(const client_update& update) {
  double squares = 0;
  for (std::size_t t = 0; t < update.change.pieces.size(); ++t) {
    if ((*update.change.shape)[t].name.ends_with("clip-below/value")) continue;
    const auto values = update.change.values_of(t);
    squares += models::kernels().norm_squared(values.data(), values.size());
  }
  return std::sqrt(squares);
}

float said_by(const client_update& update) {
  for (std::size_t t = 0; t < update.change.pieces.size(); ++t)
    if ((*update.change.shape)[t].name.ends_with("clip-below/value")) return update.change.values_of(t)[0];
  return 0.0F;
}

}  // namespace

// SCAFFOLD reports control values beside the model: the bound holds for all of them together.
BOOST_AUTO_TEST_CASE(clients_clip_everything_and_say_whether_they_did) {
  for (const std::string kind : {"fedavg", "scaffold"}) {
    auto free = adaptive(0.0, kind);
    free.privacy->clip_quantile = 0.0;
    const auto whole = tests::make_experiment(free, tests::make_ratings(41), {}, {});
    const double norm = norm_of(update_of(whole, initial_state(whole), 3));
    for (const double share : {0.3, 0.999, 1.001}) {
      const auto e = tests::make_experiment(adaptive(share * norm, kind), tests::make_ratings(41), {}, {});
      const auto state = initial_state(e);
      BOOST_TEST(clip_bound_of(e, state.added) == share * norm, boost::test_tools::tolerance(1e-6));
      const auto update = update_of(e, state, 3);
      BOOST_TEST(norm_of(update) == std::min(share, 1.0) * norm, boost::test_tools::tolerance(1e-5));
      BOOST_TEST(said_by(update) == (share < 1 ? -0.5F : 0.5F));
      // The server accepts that, and nothing longer.
      const auto longest = longest_update(e, sent_model(e, state.last()));
      BOOST_TEST(!validate(update, *e.parts.up, *e.settings.aggregation, bounds_of(e, longest, {}, std::nullopt)));
      BOOST_TEST(longest == std::hypot(share * norm, 0.5), boost::test_tools::tolerance(1e-5));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fixed_bound_adds_no_tensor) {
  auto settings = adaptive(1.0);
  settings.privacy->clip_quantile = 0.0;
  const auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  BOOST_TEST(e.groups.empty());
  BOOST_TEST(clip_bound(e, initial_state(e).model) == 1.0);
  BOOST_TEST(longest_update(e, initial_state(e).model) == longest_update(settings));
}

// C <- C exp(-lr (b - quantile)), with b the share of updates within the bound; a client whose word is larger than its
// group allows is refused.
BOOST_AUTO_TEST_CASE(the_bound_moves_by_the_share_within_it) {
  auto settings = adaptive(2.0);
  settings.privacy->clip_quantile = 0.3;
  settings.privacy->clip_lr = 0.4;
  const auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  for (const int within : {0, 2, 5}) {
    auto state = initial_state(e);
    aggregate round;
    round.added = models::shared_parameters(e.parts.reported);
    round.added.values()[0] = static_cast<float>(within) / 5.0F - 0.5F;
    move_clip_bound(e, round, state.added);
    BOOST_TEST(clip_bound_of(e, state.added) == 2 * std::exp(-0.4 * (within / 5.0 - 0.3)),
               boost::test_tools::tolerance(1e-6));
  }
  auto update = update_of(e, initial_state(e), 3);
  for (auto& value : update.change.values) value = std::abs(value) == 0.5F ? 0.75F : 0.0F;
  BOOST_TEST((validate(update, *e.parts.up, *e.settings.aggregation, bounds_of(e, 1e30, {}, std::nullopt)) ==
              rejection::norm_bound));
}

// Without noise, half of the updates of the last rounds are within the bound, from wherever it began.
BOOST_AUTO_TEST_CASE(the_bound_finds_the_quantile_in_every_engine) {
  for (const double from : {1e-3, 30.0}) {
    auto settings = adaptive(from);
    settings.rounds = 120;
    settings.participation->per_round = 17;
    settings.client->lr = 0.02F;
    const auto e = tests::simulated(settings);
    storage::memory_store store(e.parts.private_);
    const std::atomic<bool> stop = false;
    const auto end = simulate(e, initial_state(e), store, {}, stop).value().state;
    storage::memory_store other(e.parts.private_);
    const auto reference = run_reference(e, other, {}).value().state;
    BOOST_TEST(tests::same_bits(end.model.values(), reference.model.values()));
    BOOST_TEST(tests::same_bits(end.added.values(), reference.added.values()));
    BOOST_TEST(end.counts.folded == 120U * e.participants->training().size());
    const double bound = clip_bound_of(e, end.added);
    std::size_t within = 0;
    auto free = settings;
    *free.privacy = {};
    const auto unclipped = tests::make_experiment(free, tests::make_ratings(41), {}, {});
    auto state = initial_state(unclipped);
    std::ranges::copy(end.model.values(), state.model.values().begin());
    for (const auto client : e.participants->training())
      within += norm_of(update_of(unclipped, state, client)) <= bound ? 1 : 0;
    const auto clients = static_cast<double>(e.participants->training().size());
    BOOST_TEST(std::abs(static_cast<double>(within) / clients - 0.5) < 0.2);
  }
}

// Both sums together are one Gaussian mechanism: the squares of sensitivity over deviation add up.
BOOST_AUTO_TEST_CASE(both_noises_cost_what_one_does) {
  privacy_settings settings{.clip = 1.0, .clip_quantile = 0.5, .noise = 1.1};
  for (const std::uint64_t cohort : {20, 100, 10000}) {
    const auto of = noise_of(settings, cohort);
    BOOST_TEST(of.below == static_cast<double>(cohort) / 20);
    BOOST_TEST(of.sum > 1.1);
    const double mu = std::hypot(1 / of.sum, 0.5 / of.below);
    BOOST_TEST(privacy::gaussian_epsilon(mu, 1e-5) == privacy::gaussian_epsilon(1 / 1.1, 1e-5),
               boost::test_tools::tolerance(1e-9));
  }
  settings.clip_noise = 0.6;
  BOOST_TEST(noise_of(settings, 100).below == 0.6);
  BOOST_TEST(check_split(settings, 100).has_value());
  settings.clip_noise = 0.55;
  BOOST_TEST(!check_split(settings, 100));
  settings.clip_noise = 0.0;
  BOOST_TEST(check_split(settings, 20).has_value());
  BOOST_TEST(!check_split(settings, 10));
  settings.clip_quantile = 0.0;
  BOOST_TEST(noise_of(settings, 10).sum == 1.1);
}

// Each sum gets its own noise, with both keys: of what clients say, and of the updates in bounds of the round.
BOOST_AUTO_TEST_CASE(each_sum_gets_its_noise) {
  auto shape = tests::ratings_shape{};
  shape.items = 500;
  for (const bool secret : {false, true}) {
    auto settings = adaptive(0.5);
    settings.privacy->noise = 0.3;
    if (secret) settings.privacy->key = std::make_shared<const secret_key>(sha256("a"));
    const auto e = tests::make_experiment(settings, tests::make_ratings(9, shape), {}, {});
    const auto of = noise_of(*settings.privacy, 8);
    double squares = 0;
    double said = 0;
    constexpr int rounds = 300;
    for (std::uint64_t version = 0; version < rounds; ++version) {
      auto state = initial_state(e);
      state.version = version;
      state.added.values()[0] = 0.25F;
      const auto sum = make_accumulator(e, {});
      auto round = report_sum(e, state, 0, *sum);
      add_server_noise(e, state, round);
      said += round.added.values()[0] * round.added.values()[0];
      if (version == 0)
        for (const double value : round.change.values()) squares += value * value;
    }
    const auto n = static_cast<double>(e.parts.shared->size());
    BOOST_TEST(std::abs(squares / n / std::pow(of.sum * 0.25 / 8, 2) - 1) < 5 * std::sqrt(2 / n));
    BOOST_TEST(std::abs(said / rounds / std::pow(of.below / 8, 2) - 1) < 5 * std::sqrt(2.0 / rounds));
  }
}

BOOST_AUTO_TEST_SUITE_END()
