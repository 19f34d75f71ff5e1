// Canaries in runs: what they send, what the attack makes of it, and that it finds a claim that does not hold.
#include "federated/audit/canaries.hpp"

#include <set>

#include "federated/client/client_work.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/run_account.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(canary_clients)

using namespace furlong;
using namespace furlong::federated;
using privacy::sampling;

namespace {

constexpr double delta = 1e-5;

/// A round asks all clients; z is that of the whole run.
run_settings all_take_part(std::uint32_t clients, double z, std::uint64_t rounds) {
  auto settings = tests::plain_settings();
  settings.rounds = rounds;
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("uniform-mean");
  settings.aggregation->max_updates = clients;
  *settings.privacy = {.clip = 0.5, .noise = z * std::sqrt(static_cast<double>(rounds)), .delta = delta};
  auto& how = *settings.participation;
  how.policy = chosen_policy("poisson");
  how.rate = 1.0;
  how.per_round = how.cap = clients;
  return settings;
}

std::shared_ptr<const population> population_of(std::uint32_t clients, std::uint32_t items) {
  return tests::make_ratings(3, {.clients = clients,
                                 .unseen_validation = 0,
                                 .unseen_test = 0,
                                 .items = items,
                                 .fewest = 1,
                                 .most = 2,
                                 .empty = 0});
}

experiment experiment_of(const run_settings& settings, std::uint32_t clients, std::uint32_t items) {
  return tests::in_a_world(tests::make_experiment(settings, population_of(clients, items), {}, {}));
}

privacy::mechanism claim_of(const run_settings& settings, std::uint32_t clients) {
  return privacy::mechanism_of(settings, {clients, false}).of;
}

privacy::audit_bound audit(experiment& e, const privacy::mechanism& claim, std::size_t canaries) {
  const auto planted = privacy::plant_canaries(e, claim, canaries).value();
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto ended = simulate(e, initial_state(e), store, {}, stop).value();
  BOOST_TEST(tests::total(ended.state.counts.rejected) == 0U);
  const double claimed = privacy::privacy_accountant(claim).bound(ended.state.version, delta).epsilon;
  return privacy::bound_by_canaries(planted->judged(), claimed, delta, 0.95);
}

/// What a client sends in a round, dense.
std::vector<float> sent_by(const experiment& e, std::uint32_t client, std::uint64_t version) {
  const broadcast from{e.run, version, initial_model(e), {}};
  workspace use;
  client_update update;
  client_work(e, from, {e.run, version, client, 0}, false, use, update);
  BOOST_TEST(update.weight > 0U);
  return models::to_dense(update.change).values;
}

std::vector<bool> places_of(const std::vector<float>& values) {
  std::vector<bool> changed;
  for (const auto value : values) changed.push_back(value != 0.0F);
  return changed;
}

double norm(const std::vector<float>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_canary_sends_all_that_it_may_or_nothing) {
  const auto settings = all_take_part(40, 1.0, 3);
  auto e = experiment_of(settings, 40, 50);
  const auto planted = privacy::plant_canaries(e, claim_of(settings, 40), 20).value();
  BOOST_REQUIRE(planted->clients().size() == 20U);
  std::set<std::size_t> touched;
  std::size_t in = 0;
  std::size_t coordinates = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto change = sent_by(e, planted->clients()[i], 1);
    if (!planted->judged()[i].in) {
      BOOST_TEST(norm(change) == 0.0);
      continue;
    }
    ++in;
    BOOST_TEST(std::abs(norm(change) - 0.5) < 1e-5);
    for (std::size_t at = 0; at < change.size(); ++at)
      if (change[at] != 0.0F) {
        touched.insert(at);
        ++coordinates;
      }
    BOOST_TEST(places_of(change) != places_of(sent_by(e, planted->clients()[i], 2)));  // another direction
  }
  BOOST_TEST(in > 3U);
  BOOST_TEST(in < 17U);
  BOOST_TEST(coordinates == in * 10);         // 204 values for 20 canaries
  BOOST_TEST(touched.size() == coordinates);  // each its own
}

BOOST_AUTO_TEST_CASE(where_a_client_is_replaced_its_opposite_is_out) {
  auto settings = all_take_part(40, 1.0, 3);
  settings.participation->policy = chosen_policy("uniform");
  settings.participation->per_round = 20;
  auto e = experiment_of(settings, 40, 50);
  const auto claim = claim_of(settings, 40);
  BOOST_REQUIRE((claim.how == sampling::fixed_size));
  const auto planted = privacy::plant_canaries(e, claim, 20).value();
  auto other = experiment_of(settings, 40, 50);
  const auto zero_out = privacy::plant_canaries(other, claim_of(all_take_part(40, 1.0, 3), 40), 20).value();
  for (std::size_t i = 0; i < 20; ++i) {
    const auto change = sent_by(e, planted->clients()[i], 1);
    BOOST_TEST(std::abs(norm(change) - 0.5) < 1e-5);
    BOOST_REQUIRE(planted->judged()[i].in == zero_out->judged()[i].in);
    if (planted->judged()[i].in) BOOST_TEST(change == sent_by(other, zero_out->clients()[i], 1));
  }
}

BOOST_AUTO_TEST_CASE(other_clients_send_what_they_would_without_canaries) {
  const auto settings = all_take_part(40, 1.0, 3);
  const auto plain = experiment_of(settings, 40, 50);
  auto e = experiment_of(settings, 40, 50);
  const auto planted = privacy::plant_canaries(e, claim_of(settings, 40), 20).value();
  for (const auto client : e.participants->training())
    if (!std::ranges::binary_search(planted->clients(), client))
      BOOST_TEST(sent_by(e, client, 1) == sent_by(plain, client, 1));
}

BOOST_AUTO_TEST_CASE(log_odds_are_those_of_normal_densities) {
  const auto density = [](double x, double mean, double deviation) {
    return std::exp(-(x - mean) * (x - mean) / (2 * deviation * deviation));
  };
  for (const double z : {0.5, 2.0})
    for (const double rate : {0.01, 0.5, 1.0})
      for (const double x : {-1.5, 0.0, 0.3, 2.0}) {
        const double out = density(x, 0, z);
        const auto with = [&](double mean) { return (1 - rate) * out + rate * density(x, mean, z); };
        BOOST_TEST(std::abs(privacy::log_odds_of({.noise = z}, rate, x) - std::log(with(1) / out)) < 1e-12);
        BOOST_TEST(std::abs(privacy::log_odds_of({.noise = z, .how = sampling::fixed_size}, rate, x) -
                            std::log(with(1) / with(-1))) < 1e-12);
      }
  BOOST_TEST(std::isfinite(privacy::log_odds_of({.noise = 1e-3}, 0.1, 50)));
}

// Five runs here, twenty of each kind in tests/campaigns/audit.py.
BOOST_AUTO_TEST_CASE(honest_runs_are_not_contradicted_and_the_attack_is_not_blind) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto settings = all_take_part(2000, 1.0, 2);
    settings.seed = seed;
    auto e = experiment_of(settings, 2000, 600);
    const auto claim = claim_of(settings, 2000);
    const auto found = audit(e, claim, 2000);
    const double claimed = privacy::privacy_accountant(claim).bound(2, delta).epsilon;
    BOOST_TEST(found.epsilon <= claimed);
    BOOST_TEST(found.epsilon > 0.25 * claimed);
    BOOST_TEST(found.p_value > 0.05);
  }
}

// The claim is that of four times the noise that the run adds. Half of the noise is at the limit of what guesses show.
BOOST_AUTO_TEST_CASE(a_quarter_of_the_noise_contradicts_the_claim) {
  auto settings = all_take_part(4000, 2.0, 2);
  const auto claim = claim_of(settings, 4000);
  settings.privacy->noise /= 4;
  auto e = experiment_of(settings, 4000, 1100);
  const auto found = audit(e, claim, 4000);
  BOOST_TEST(found.epsilon > privacy::privacy_accountant(claim).bound(2, delta).epsilon);
  BOOST_TEST(found.p_value < 0.05);
}

BOOST_AUTO_TEST_CASE(runs_that_no_canary_fits_are_refused) {
  auto settings = all_take_part(40, 1.0, 3);
  const auto claim = claim_of(settings, 40);
  const auto refused = [&](const run_settings& of, std::size_t count) {
    auto e = experiment_of(of, 40, 50);
    const auto planted = privacy::plant_canaries(e, claim, count);
    return planted ? std::string() : planted.error().place;
  };
  BOOST_TEST(refused(settings, 40).empty());
  BOOST_TEST(refused(settings, 41) == "--canaries");
  BOOST_TEST(refused(settings, 7) == "--canaries");
  BOOST_TEST(refused(settings, 0).empty());  // half of them
  auto async = settings;
  async.participation->mode = participation_mode::async;
  BOOST_TEST(refused(async, 20) == "participation.mode");
  *settings.algorithm = chosen_algorithm("centralized");
  BOOST_TEST(refused(settings, 1) == "algorithm.kind");
}

BOOST_AUTO_TEST_SUITE_END()
