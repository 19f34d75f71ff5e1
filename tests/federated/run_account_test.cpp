// The account of runs: which mechanism settings are, and where privacy.target_epsilon ends a run.
#include "federated/privacy/run_account.hpp"

#include "federated/participation/policy.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(run_accounts)

using namespace furlong;
using namespace furlong::federated;
using privacy::sampling;

namespace {

constexpr std::uint64_t clients = 400;

run_settings noisy(const std::string& policy = "uniform") {
  run_settings settings;
  settings.rounds = 200;
  *settings.privacy = {.clip = 1.0, .noise = 1.5};
  auto& how = *settings.participation;
  how.per_round = 20;
  how.rate = 0.05;
  how.cap = 30;
  how.policy = chosen_policy(policy);
  return settings;
}

privacy::run_mechanism mechanism_of(const run_settings& settings, bool on_nodes = false) {
  return privacy::mechanism_of(settings, {clients, on_nodes});
}

/// A run that stops when its budget of releases is spent.
run_settings limited(run_settings settings, privacy_budget budget) {
  settings.rounds = 12;
  settings.privacy->clip = 0.5;
  settings.privacy->noise = 0.1;
  settings.privacy->budget = budget;
  return settings;
}

std::uint32_t most_folded(const server_state& state) {
  std::uint32_t most = 0;
  for (const auto& record : state.ledger->records()) most = std::max(most, record.folded);
  return most;
}

run_settings small_settings() {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("uniform-mean");
  return settings;
}

run_outcome simulated_run(const run_settings& settings) {
  const auto e = tests::simulated(settings);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  return simulate(e, initial_state(e), store, {}, stop).value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(undisturbed_draws_are_amplified) {
  const auto fixed = mechanism_of(noisy());
  BOOST_TEST((fixed.of.how == sampling::fixed_size));
  BOOST_TEST(fixed.of.rate == 20.0 / 400);
  BOOST_TEST(fixed.of.noise == 1.5);
  BOOST_TEST(!fixed.by_client());
  const auto capped = mechanism_of(noisy("poisson"));
  BOOST_TEST((capped.of.how == sampling::truncated_poisson));
  BOOST_TEST(capped.of.rate == 0.05);
  BOOST_TEST(capped.of.cap == 30U);
  BOOST_TEST(capped.of.clients == clients);
  auto wide = noisy("poisson");
  wide.participation->cap = clients;
  BOOST_TEST((mechanism_of(wide).of.how == sampling::poisson));
}

BOOST_AUTO_TEST_CASE(whatever_else_decides_who_takes_part_is_not) {
  using change = std::function<void(run_settings&)>;
  struct disturbance {
    const char* what;
    bool poisson_too;
    change by;
  };
  const std::vector<disturbance> all = {
      {"async", true, [](auto& s) { s.participation->mode = participation_mode::async; }},
      {"deadline", true, [](auto& s) { s.participation->deadline = 60; }},
      {"reconnect", true, [](auto& s) { s.participation->reconnect_most = 60; }},
      {"over-selection", false, [](auto& s) { s.participation->over_selection = 1.3; }},
      {"nodes", false, [](auto& s) { s.topology->nodes = 4; }},
      {"events", false, [](auto& s) { s.events->emplace_back(); }},
      {"availability", false, [](auto& s) { s.devices->availability.kind = "diurnal"; }},
      {"download", false, [](auto& s) { s.dropout->download = .1; }},
      {"train", false, [](auto& s) { s.dropout->train = .1; }},
      {"upload", false, [](auto& s) { s.dropout->upload = .1; }}};
  for (const auto& one : all) {
    BOOST_TEST_CONTEXT(one.what) {
      auto fixed = noisy();
      one.by(fixed);
      BOOST_TEST((mechanism_of(fixed).of.how == sampling::none));
      BOOST_TEST(!mechanism_of(fixed).unsampled.empty());
      auto drawn = noisy("poisson");
      one.by(drawn);
      BOOST_TEST((mechanism_of(drawn).of.how == sampling::none) == one.poisson_too);
    }
  }
  BOOST_TEST((mechanism_of(noisy(), true).of.how == sampling::none));
  BOOST_TEST((mechanism_of(noisy("poisson"), true).of.how == sampling::truncated_poisson));
  for (const auto& policy : registered_policies()) {
    if (policy.traits.sees_losses) continue;  // refused with noise
    const auto how = mechanism_of(noisy(policy.kind));
    BOOST_TEST_CONTEXT(policy.kind) {
      BOOST_TEST((how.of.how != sampling::none) == (policy.traits.draws_alike || policy.traits.draws_cohort));
    }
  }
  BOOST_TEST(find_policy("power-of-choice")->traits.sees_losses);
  BOOST_TEST(find_policy("uniform")->traits.draws_alike);
  BOOST_TEST(!find_policy("weight")->traits.draws_alike);
}

// Kairouz et al. 2021: trees that are no longer than the separation have a client's values once a level. In longer ones
// the bound is above what the worst times of participation cost, and not far.
BOOST_AUTO_TEST_CASE(trees_cost_their_levels) {
  const auto releases = [](std::uint64_t tree, std::uint64_t apart, std::uint64_t participations) {
    return privacy::tree_releases({.tree = tree, .apart = apart}, participations);
  };
  BOOST_TEST(releases(0, 1, 7) == 7U);
  BOOST_TEST(releases(1600, 1600, 1) == 11U);
  BOOST_TEST(releases(16, 16, 3) == 15U);
  BOOST_TEST(releases(1, 1, 3) == 3U);
  for (const std::uint64_t apart : {1, 2, 3, 5})
    for (std::uint64_t first = 0; first < apart; ++first)
      for (const std::uint64_t participations : {1, 2, 3, 4, 9}) {
        std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> nodes;
        constexpr std::uint64_t rounds = 32;
        std::uint64_t made = 0;
        for (auto round = first; round < rounds && made < participations; round += apart, ++made)
          for (unsigned level = 0; level < 6; ++level) ++nodes[{level, round >> level}];
        std::uint64_t squares = 0;
        for (const auto& [at, count] : nodes) squares += count * count;
        BOOST_TEST(releases(rounds, apart, made) >= squares);
        if (first == 0) BOOST_TEST(releases(rounds, apart, made) <= 2 * squares);
      }
}

BOOST_AUTO_TEST_CASE(a_tree_is_accounted_by_participations) {
  auto settings = noisy("poisson");
  settings.privacy->mechanism = noise_mechanism::tree;
  settings.participation->min_separation = 18;
  auto how = mechanism_of(settings);
  BOOST_TEST(how.by_client());
  BOOST_TEST(how.of.tree == 200U);
  BOOST_TEST(how.of.apart == 18U);
  BOOST_TEST(privacy::mechanism_of(settings, {clients, false, 300}).of.tree == 300U);  // resumed with fewer rounds
  settings.privacy->tree_rounds = 16;
  how = mechanism_of(settings);
  BOOST_TEST(how.of.tree == 16U);
  const privacy::privacy_accountant account(how.of);
  const auto plain = privacy::privacy_accountant({.noise = 1.5}).bound(4 * 5, 1e-5);
  BOOST_TEST(account.bound(4, 1e-5).epsilon == plain.epsilon);
  BOOST_TEST(account.bound(4, 1e-5).renyi_epsilon == plain.renyi_epsilon);
  BOOST_TEST(privacy::even_participations(settings, clients, 200) == 10U);
  settings.participation->min_separation = 40;
  BOOST_TEST(privacy::even_participations(settings, clients, 200) == 5U);
  // Separated clients are no Poisson sample either.
  auto separated = noisy("poisson");
  separated.participation->min_separation = 2;
  BOOST_TEST((mechanism_of(separated).of.how == sampling::none));
}

BOOST_AUTO_TEST_CASE(the_server_sees_who_takes_part_and_the_shares_of_colluding_clients) {
  auto settings = noisy();
  BOOST_TEST(mechanism_of(settings).shares == 0U);
  settings.privacy->noise_at = noise_place::client;
  settings.privacy->secure_aggregation = true;
  settings.participation->min_reports = 14;
  const auto how = mechanism_of(settings);
  BOOST_TEST(how.shares == 14U);
  BOOST_TEST((how.of.how == sampling::fixed_size));
  BOOST_TEST(how.of.noise == 1.5);
  const auto seen = privacy::mechanism_for_server(settings, clients);
  BOOST_TEST((seen.how == sampling::none));
  BOOST_TEST(seen.noise == 1.5 * std::sqrt(13.0 / 14), boost::test_tools::tolerance(1e-12));  // 1 of 20 colludes
  // Their noise shows how many were drawn, which Poisson sampling must hide.
  auto drawn = noisy("poisson");
  BOOST_TEST((mechanism_of(drawn).of.how == sampling::truncated_poisson));
  drawn.privacy->noise_at = noise_place::client;
  drawn.participation->min_reports = 14;
  BOOST_TEST((mechanism_of(drawn).of.how == sampling::none));
  BOOST_TEST(mechanism_of(drawn).unsampled.starts_with("the noise of clients grows with their number"));
  settings.participation->over_selection = 1.45;
  BOOST_TEST(privacy::mechanism_for_server(settings, clients).noise == seen.noise);
  settings.participation->min_reports = 1;
  BOOST_TEST(privacy::mechanism_for_server(settings, clients).noise == 0.0);
  const auto lines = privacy::not_covered(settings, true);
  BOOST_TEST(std::ranges::none_of(lines, [](const auto& line) { return line.find("before the noise") != line.npos; }));
}

BOOST_AUTO_TEST_CASE(privacy_is_simulated_by_a_seed) {
  privacy_settings settings;
  BOOST_TEST(privacy::is_simulated(settings, false));
  BOOST_TEST(!privacy::is_simulated(settings, true));
  settings.noise_key = noise_keying::seed;
  BOOST_TEST(privacy::is_simulated(settings, true));
  settings.noise_key = noise_keying::secret;
  BOOST_TEST(!privacy::is_simulated(settings, false));
}

BOOST_AUTO_TEST_CASE(delta_defaults_to_a_power_of_the_clients) {
  BOOST_TEST(privacy::delta_of({}, 4832) == std::pow(4832, -1.1));
  BOOST_TEST(privacy::delta_of({.delta = 1e-6}, 4832) == 1e-6);
}

BOOST_AUTO_TEST_CASE(counts_what_was_released) {
  server_state state;
  state.version = 9;
  state.counts.rounds_abandoned = 2;
  BOOST_TEST(privacy::count_releases(false, state) == 7U);
  BOOST_TEST(privacy::count_releases(true, state) == 0U);
  state.ledger = std::make_shared<participation_ledger>(3);
  state.ledger->touch(1).folded = 4;
  state.ledger->touch(2).folded = 3;
  state.ledger->touch(2).selected = 8;
  BOOST_TEST(privacy::count_releases(true, state) == 4U);
}

BOOST_AUTO_TEST_CASE(even_shares_of_the_rounds) {
  BOOST_TEST(privacy::even_participations(noisy(), clients, 200) == 10U);
  BOOST_TEST(privacy::even_participations(noisy(), clients, 201) == 11U);
  BOOST_TEST(privacy::even_participations(noisy("poisson"), clients, 200) == 10U);
  auto async = noisy();
  async.participation->mode = participation_mode::async;
  async.participation->buffer = 4;
  BOOST_TEST(privacy::even_participations(async, clients, 200) == 2U);
}

BOOST_AUTO_TEST_CASE(a_target_becomes_a_budget) {
  auto settings = noisy("poisson");
  BOOST_TEST(privacy::budget_of(settings, {clients, false})->releases == privacy_budget{}.releases);
  settings.privacy->delta = 1e-5;
  settings.privacy->target_epsilon = 1.5;
  const auto budget = privacy::budget_of(settings, {clients, false});
  BOOST_REQUIRE(budget);
  const privacy::privacy_accountant account(mechanism_of(settings).of);
  BOOST_TEST(!budget->by_client);
  BOOST_TEST(account.bound(budget->releases, 1e-5).epsilon <= 1.5);
  BOOST_TEST(account.bound(budget->releases + 1, 1e-5).epsilon > 1.5);
  // What the rounds use up exactly is not spent.
  auto enough = settings;
  enough.rounds = budget->releases;
  server_state state;
  state.version = enough.rounds;
  enough.privacy->target_epsilon = 50;
  enough.privacy->budget = *privacy::budget_of(enough, {clients, false});
  BOOST_TEST(!privacy::is_spent(*enough.privacy, state));
  settings.participation->mode = participation_mode::async;
  BOOST_TEST(privacy::budget_of(noisy(), {clients, false})->by_client == false);
  const auto by_client = privacy::budget_of(settings, {clients, false});
  BOOST_REQUIRE(!by_client);  // one participation alone costs more
  BOOST_TEST(by_client.error().place == "privacy.target_epsilon");
  settings.privacy->target_epsilon = 6;
  BOOST_TEST(privacy::budget_of(settings, {clients, false})->by_client);
}

BOOST_AUTO_TEST_CASE(a_run_ends_when_its_rounds_are_spent) {
  const auto settings = limited(small_settings(), {.releases = 5});
  const auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  storage::memory_store store(e.parts.private_);
  BOOST_TEST(run_reference(e, store, {}).value().state.version == 5U);
  const auto outcome = simulated_run(settings);
  BOOST_TEST(outcome.state.version == 5U);
  BOOST_TEST(!outcome.interrupted);
  // Resumed, it stays over; with a larger budget it goes on to it.
  for (const std::uint64_t releases : {5, 7}) {
    const auto more = tests::simulated(limited(small_settings(), {.releases = releases}));
    storage::memory_store kept(more.parts.private_);
    const std::atomic<bool> stop = false;
    BOOST_TEST(simulate(more, outcome.state, kept, {}, stop).value().state.version == releases);
  }
}

BOOST_AUTO_TEST_CASE(a_run_ends_before_a_client_takes_part_too_often) {
  for (const auto mode : {participation_mode::sync, participation_mode::async}) {
    auto settings = limited(small_settings(), {.releases = 2, .by_client = true});
    settings.rounds = 60;
    settings.participation->mode = mode;
    settings.participation->buffer = 3;
    settings.participation->concurrency = 6;
    const auto outcome = simulated_run(settings);
    BOOST_TEST(most_folded(outcome.state) == 2U);
    BOOST_TEST(outcome.state.version < 60U);
    BOOST_TEST(is_over(settings, outcome.state));
  }
}

BOOST_AUTO_TEST_CASE(says_what_it_assumes_and_what_it_leaves_out) {
  const auto mentions = [](const std::vector<std::string>& all, const std::string& what) {
    return std::ranges::any_of(all, [&](const auto& line) { return line.find(what) != std::string::npos; });
  };
  auto settings = noisy();
  BOOST_TEST(mentions(privacy::not_covered(settings, false), "norm_bound"));
  settings.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  BOOST_TEST(!mentions(privacy::not_covered(settings, false), "norm_bound"));
  BOOST_TEST(mentions(privacy::not_covered(settings, false), "simulated privacy"));
  BOOST_TEST(mentions(privacy::not_covered(settings, false), "differ by a client"));
  BOOST_TEST(!mentions(privacy::not_covered(settings, true), "simulated privacy"));
  BOOST_TEST(!mentions(privacy::not_covered(settings, true), "differ by a client"));
  BOOST_TEST(mentions(privacy::not_covered(settings, true), "epsilon and delta of all runs add up"));
  settings.privacy->secure_aggregation = true;
  BOOST_TEST(mentions(privacy::not_covered(settings, true), "differ by a client reveal its update to it"));
  BOOST_TEST(mentions(privacy::not_covered(settings, true), "makes again"));
  settings.participation->deadline = 1;
  BOOST_TEST(mentions(privacy::assumptions_of(mechanism_of(settings)), "participation.deadline"));
  BOOST_TEST(mentions(privacy::assumptions_of(mechanism_of(noisy("poisson"))), "more than 30"));
}

BOOST_AUTO_TEST_SUITE_END()
