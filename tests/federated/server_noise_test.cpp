// The server's noise: its deviation, what it is divided by, its key, and trees of it.
#include "federated/privacy/server_noise.hpp"

#include <map>

#include "federated/participation/draws.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(server_noises)

using namespace furlong;
using namespace furlong::federated;

namespace {

run_settings noisy(const std::string& policy = "uniform") {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("uniform-mean");
  settings.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  *settings.privacy = {.clip = 0.5, .noise = 1.2};
  settings.participation->policy = chosen_policy(policy);
  settings.participation->rate = 0.4;
  return settings;
}

std::shared_ptr<const secret_key> key_of(std::string_view text) {
  return std::make_shared<const secret_key>(sha256(text));
}

/// Many values, so that deviations are well known.
experiment wide(const run_settings& settings) {
  auto shape = tests::ratings_shape{};
  shape.items = 4000;
  return tests::make_experiment(settings, tests::make_ratings(9, shape), {}, {});
}

double deviation(std::span<const float> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The aggregate of `count` updates of nothing, in the round that starts from `version`.
aggregate released(const experiment& e, std::uint64_t version, std::uint32_t count, std::uint64_t began = 0) {
  auto state = initial_state(e);
  state.version = version;
  const auto sum = make_accumulator(e, {});
  for (std::uint32_t client = 0; client < count; ++client) {
    client_update update{.id = {e.run, version, client, 0}, .weight = 3, .change = {e.parts.up, {}, {}, {}}};
    for (const auto& spec : e.parts.up->tensors()) {
      update.change.pieces.push_back({false, 0, 0, update.change.values.size()});
      update.change.values.resize(update.change.values.size() + spec.size());
    }
    BOOST_REQUIRE(!sum->fold(update));
  }
  auto made = report_sum(e, state, began, *sum);
  add_server_noise(e, state, made);
  return made;
}

void check_deviation(std::span<const float> values, double expected) {
  const auto n = static_cast<double>(values.size());
  BOOST_TEST(std::abs(std::pow(deviation(values) / expected, 2) - 1) < 5 * std::sqrt(2 / n));
}

using node = std::pair<std::uint64_t, unsigned>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_noisy_sum_is_divided_by_the_planned_cohort) {
  auto settings = noisy();
  settings.privacy->key = key_of("a");
  BOOST_TEST(public_divisor(settings, 17) == 8U);
  settings.privacy->key = nullptr;
  BOOST_TEST(public_divisor(settings, 17) == 0U);  // as ever in simulations of fixed cohorts
  BOOST_TEST(public_divisor(noisy("poisson"), 17) == 7U);
  auto other = settings;
  other.participation->mode = participation_mode::async;
  other.participation->buffer = 5;
  BOOST_TEST(public_divisor(other, 17) == 5U);
  other.participation->async = async_kind::model;
  BOOST_TEST(public_divisor(other, 17) == 0U);
  other = settings;
  other.privacy->noise = 0;
  BOOST_TEST(public_divisor(other, 17) == 0U);
  // Independent of who reports: the values, and what an algorithm learns of their number.
  for (const bool secret : {false, true}) {
    settings = noisy(secret ? "uniform" : "poisson");
    settings.privacy->key = secret ? key_of("a") : nullptr;
    const auto e = wide(settings);
    const auto planned = public_divisor(settings, e.participants->training().size());
    BOOST_TEST(planned > 0U);
    for (const std::uint32_t reports : {3U, 8U}) {
      const auto round = released(e, 2, reports);
      BOOST_TEST(round.count == planned);
      BOOST_TEST(round.usable);
      check_deviation(round.change.values(), 1.2 * 0.5 / static_cast<double>(planned));
    }
  }
  // An update of ones counts an eighth however many there are.
  settings = noisy();
  settings.privacy->noise = 1e-6;
  settings.privacy->mechanism = noise_mechanism::tree;
  const auto e = tests::make_experiment(settings, tests::make_ratings(9), {}, {});
  const auto sum = make_accumulator(e, {});
  client_update update{.id = {e.run, 0, 1, 0}, .weight = 3, .change = {e.parts.up, {}, {}, {}}};
  for (const auto& spec : e.parts.up->tensors()) {
    update.change.pieces.push_back({false, 0, 0, update.change.values.size()});
    update.change.values.resize(update.change.values.size() + spec.size(), 1.0F);
  }
  BOOST_REQUIRE(!sum->fold(update));
  BOOST_TEST(report_sum(e, initial_state(e), 0, *sum).change.values()[0] == 0.125F);
}

BOOST_AUTO_TEST_CASE(a_round_of_one_update_tells_no_loss) {
  auto settings = noisy("poisson");
  settings.participation->rate = 0.2;
  settings.participation->cap = 9;
  settings.rounds = 20;
  const auto e = tests::make_experiment(settings, tests::make_ratings(9), {}, {});
  storage::memory_store store(e.parts.private_);
  std::array<std::uint64_t, 2> rounds{};
  const run_observer observer{.on_round = [&](const round_report& report) -> result<void> {
    BOOST_TEST(report.has_loss() == (report.folded > 1));
    ++rounds[report.folded == 1 ? 0 : 1];
    return {};
  }};
  BOOST_REQUIRE(run_reference(e, store, observer));
  BOOST_TEST(rounds[0] > 0U);
  BOOST_TEST(rounds[1] > 0U);
}

BOOST_AUTO_TEST_CASE(noise_is_keyed_by_the_secret_and_the_round) {
  auto settings = noisy();
  settings.privacy->key = key_of("a");
  const auto e = wide(settings);
  const auto first = released(e, 2, 4).change;
  BOOST_TEST(tests::same_bits(first.values(), released(e, 2, 4).change.values()));
  BOOST_TEST(!tests::same_bits(first.values(), released(e, 3, 4).change.values()));
  settings.privacy->key = key_of("b");
  BOOST_TEST(!tests::same_bits(first.values(), released(wide(settings), 2, 4).change.values()));
  // The seed has no part in it.
  settings.privacy->key = key_of("a");
  settings.seed = 99;
  BOOST_TEST(tests::same_bits(first.values(), released(wide(settings), 2, 4).change.values()));
}

BOOST_AUTO_TEST_CASE(cohorts_are_drawn_by_the_secret) {
  for (const std::string policy : {"uniform", "poisson"}) {
    auto settings = noisy(policy);
    const auto cohorts = [&](const std::shared_ptr<const secret_key>& key) {
      settings.privacy->key = key;
      const auto e = wide(settings);
      participation_ledger ledger(20);
      const auto drawing = make_policy(e, ledger);
      std::vector<std::uint32_t> all;
      for (std::uint64_t round = 0; round < 20; ++round) {
        selection of{.count = 8, .round = round, .eligible = [](std::uint32_t) { return true; }};
        const auto one = drawing->choose(of, ledger);
        all.insert(all.end(), one.begin(), one.end());
      }
      return all;
    };
    BOOST_TEST((cohorts(key_of("a")) == cohorts(key_of("a"))));
    BOOST_TEST((cohorts(key_of("a")) != cohorts(key_of("b"))));
    BOOST_TEST((cohorts(nullptr) != cohorts(key_of("b"))));
  }
}

BOOST_AUTO_TEST_CASE(what_words_cannot_take_is_refused) {
  auto settings = noisy();
  settings.privacy->key = key_of("a");
  BOOST_TEST(check_noise(wide(settings), 17).has_value());
  settings.privacy->noise = 1e9;
  const auto refused = check_noise(wide(settings), 17);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().place == "privacy.noise");
  settings.privacy->key = nullptr;
  BOOST_TEST(check_noise(wide(settings), 17).has_value());
}

// A cohort that was drawn by coins may be empty, and nobody may know: the noise is released.
BOOST_AUTO_TEST_CASE(an_empty_drawn_cohort_is_released) {
  BOOST_TEST(fewest_reports(noisy("poisson")) == 0U);
  BOOST_TEST(fewest_reports(noisy()) == 1U);
  auto shares = noisy("poisson");  // clients add the noise: with too few there is too little
  shares.privacy->noise_at = noise_place::client;
  shares.participation->min_reports = 3;
  BOOST_TEST(fewest_reports(shares) == 3U);
  auto settings = noisy("poisson");
  settings.participation->rate = 1e-6;
  settings.participation->cap = 4;
  const auto e = tests::simulated(settings);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto outcome = simulate(e, initial_state(e), store, {}, stop).value();
  BOOST_TEST(outcome.state.version == 5U);
  BOOST_TEST(outcome.state.counts.folded == 0U);
  BOOST_TEST(outcome.state.counts.rounds_abandoned == 0U);
  BOOST_TEST(!tests::same_bits(outcome.state.model.values(), initial_state(e).model.values()));
  storage::memory_store other(e.parts.private_);
  const auto reference = run_reference(e, other, {}).value();
  BOOST_TEST(tests::same_bits(outcome.state.model.values(), reference.state.model.values()));
}

BOOST_AUTO_TEST_CASE(losses_of_single_clients_are_not_kept) {
  for (const double noise : {0.0, 0.1}) {
    auto settings = noisy();
    settings.privacy->noise = noise;
    const auto e = tests::simulated(settings);
    storage::memory_store store(e.parts.private_);
    storage::memory_store other(e.parts.private_);
    const std::atomic<bool> stop = false;
    for (const auto& state :
         {simulate(e, initial_state(e), store, {}, stop).value().state, run_reference(e, other, {}).value().state}) {
      BOOST_TEST(state.counts.folded == 40U);
      const auto kept = std::ranges::count_if(state.ledger->records(), [](const auto& of) { return of.loss != 0.0F; });
      BOOST_TEST((kept == 0) == (noise > 0));
      BOOST_TEST(state.losses.training.has_value() == (noise == 0.0));
    }
  }
}

// The noise of rounds 0 to t, added up, is that of the nodes that t + 1 is made of in binary.
BOOST_AUTO_TEST_CASE(the_terms_of_a_tree_add_up_to_its_nodes) {
  privacy_settings settings{.mechanism = noise_mechanism::tree};
  for (const std::uint32_t rounds : {0U, 16U, 21U}) {
    settings.tree_rounds = rounds;
    std::map<node, int> sum;
    for (std::uint64_t version = 0; version < 100; ++version) {
      if (rounds > 0 && version % rounds == 0) sum.clear();
      for (const auto& term : noise_terms(settings, version, 0)) sum[{term.version, term.level}] += term.sign;
      std::erase_if(sum, [](const auto& one) { return one.second == 0; });
      const auto leaf = (rounds > 0 ? version % rounds : version) + 1;
      BOOST_TEST(sum.size() == static_cast<std::size_t>(std::popcount(leaf)));
      auto end = version - leaf;
      for (unsigned level = 32; level-- > 0;) {
        if ((leaf >> level & 1U) == 0) continue;
        end += std::uint64_t{1} << level;
        BOOST_TEST((sum.contains({end, level}) && sum.at({end, level}) == 1));
      }
    }
  }
  BOOST_TEST((noise_terms({}, 7, 0) == std::vector<noise_term>{{7, 0, 1}}));
  // A process with another key cannot take back noise of the one before.
  settings.tree_rounds = 0;
  settings.key = key_of("a");
  BOOST_TEST(noise_terms(settings, 7, 0).size() == 4U);
  BOOST_TEST(noise_terms(settings, 7, 7).size() == 1U);
  settings.key = nullptr;
  BOOST_TEST(noise_terms(settings, 7, 7).size() == 4U);
}

// The model after t rounds has the noise of as many draws as t has ones in binary, with either key.
BOOST_AUTO_TEST_CASE(prefixes_have_the_noise_of_their_nodes) {
  for (const bool secret : {false, true}) {
    auto settings = noisy();
    settings.privacy->mechanism = noise_mechanism::tree;
    settings.privacy->key = secret ? key_of("a") : nullptr;
    const auto e = wide(settings);
    std::vector<float> model(e.parts.shared->size());
    for (std::uint64_t version = 0; version < 9; ++version) {
      const auto round = released(e, version, 2);
      for (std::size_t i = 0; i < model.size(); ++i) model[i] += round.change.values()[i];
      check_deviation(model, 1.2 * 0.5 / 8 * std::sqrt(std::popcount(version + 1)));
    }
  }
}

BOOST_AUTO_TEST_CASE(selections_of_a_client_are_apart) {
  for (const bool reference : {false, true})
    for (const std::uint32_t apart : {0U, 2U, 4U}) {
      auto settings = noisy();
      settings.rounds = 24;
      settings.participation->per_round = 4;
      settings.participation->min_separation = apart;
      const auto e = tests::simulated(settings);
      std::map<std::uint32_t, std::uint64_t> last;
      std::uint64_t closest = 1000;
      std::uint64_t round = 0;
      // A client's ledger entry says when it was asked; rounds are observed one by one.
      const participation_ledger* ledger = nullptr;
      const auto look = [&](const round_report&) {
        ++round;
        for (std::uint32_t client = 0; ledger != nullptr && client < ledger->size(); ++client) {
          if ((*ledger)[client].asked_version != round) continue;
          if (last.contains(client)) closest = std::min(closest, round - last[client]);
          last[client] = round;
        }
        return result<void>{};
      };
      run_observer observer;
      observer.on_round = look;
      storage::memory_store store(e.parts.private_);
      const std::atomic<bool> stop = false;
      server_state end;
      if (reference) {
        end = run_reference(e, store, {}).value().state;
      } else {
        auto state = initial_state(e);
        ledger = state.ledger.get();
        end = simulate(e, std::move(state), store, observer, stop).value().state;
        BOOST_TEST(closest >= std::max(1U, apart));
        if (apart == 0) BOOST_TEST(closest == 1U);
      }
      BOOST_TEST(end.counts.folded == 96U);
      std::uint32_t most = 0;
      for (const auto& record : end.ledger->records()) most = std::max(most, record.folded);
      BOOST_TEST((most <= 24 / std::max(1U, apart)));
      if (apart == 0) BOOST_TEST(most > 6U);
    }
}

/// Shares add up to the noise with the smallest number of reports, and to more with more; the server adds none. Clients
/// without examples add theirs too.
BOOST_AUTO_TEST_CASE(clients_add_shares_of_the_noise) {
  for (const bool secret : {false, true})
    for (const double quantile : {0.0, 0.5}) {
      auto settings = noisy();
      settings.privacy->noise_at = noise_place::client;
      settings.privacy->secure_aggregation = true;
      settings.privacy->clip_quantile = quantile;
      settings.privacy->clip_noise = quantile > 0 ? 4.0 : 0.0;
      settings.participation->min_reports = 6;
      settings.privacy->key = secret ? key_of("a") : nullptr;
      const auto e = wide(settings);
      BOOST_TEST(fewest_reports(e.settings) == 6U);
      BOOST_TEST(check_noise(e, e.participants->training().size()).has_value());
      const auto state = initial_state(e);
      const auto z = noise_of(*settings.privacy, 8).sum;
      for (const std::uint32_t reports : {6U, 12U}) {
        const auto sum = make_accumulator(e, {});
        for (std::uint32_t client = 0; client < reports; ++client) {
          const auto one = make_open_accumulator(e, {});
          add_client_noise(e, make_broadcast(e, state).model, {e.run, 2, client, 0}, *one);
          BOOST_REQUIRE(sum->merge(one->take()).has_value());
        }
        BOOST_REQUIRE(sum->open(sum->take().words, reports).has_value());
        auto made = report_sum(e, state, 0, *sum);
        add_server_noise(e, state, made);
        BOOST_TEST(made.count == 8U);  // the planned cohort
        check_deviation(made.change.values(), z * 0.5 * std::sqrt(reports / 6.0) / 8);
      }
    }
}

BOOST_AUTO_TEST_CASE(shares_of_clients_differ_and_are_drawn_anew_with_a_secret) {
  auto settings = noisy();
  settings.privacy->noise_at = noise_place::client;
  const auto share = [&](const experiment& e, task_id of) {
    const auto sum = make_open_accumulator(e, {});
    of.run = e.run;
    add_client_noise(e, make_broadcast(e, initial_state(e)).model, of, *sum);
    return sum->take().words;
  };
  const auto seeded = wide(settings);
  const auto first = share(seeded, {{}, 2, 1, 0});
  BOOST_TEST(first == share(seeded, {{}, 2, 1, 0}), boost::test_tools::per_element());
  for (const auto& other : {task_id{{}, 3, 1, 0}, {{}, 2, 2, 0}, {{}, 2, 1, 1}})
    BOOST_TEST((first != share(seeded, other)));
  settings.privacy->key = key_of("a");
  const auto secret = wide(settings);
  BOOST_TEST((share(secret, {{}, 2, 1, 0}) != share(secret, {{}, 2, 1, 0})));
  settings.privacy->noise_at = noise_place::server;
  const auto none = share(wide(settings), {{}, 2, 1, 0});
  BOOST_TEST(std::ranges::count(none, 0) == static_cast<std::ptrdiff_t>(none.size()));
}

/// Of words that are too short for it, or so long that the noise is a few of their units.
BOOST_AUTO_TEST_CASE(shares_must_fit_the_words) {
  auto settings = noisy();
  settings.privacy->noise_at = noise_place::client;
  const auto fits = [&] {
    const auto e = tests::make_experiment(settings, tests::make_ratings(9), {}, {});
    return check_noise(e, e.participants->training().size()).has_value();
  };
  BOOST_TEST(fits());
  settings.privacy->noise = 1e6;
  BOOST_TEST(!fits());
  settings.participation->min_reports = 4'000'000;
  BOOST_TEST(fits());
  settings.participation->min_reports = 1;
  settings.privacy->noise = 1e-12;
  BOOST_TEST(!fits());
}

BOOST_AUTO_TEST_SUITE_END()
