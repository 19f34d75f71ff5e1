#include "federated/privacy/run_account.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "federated/privacy/server_noise.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated::privacy {

namespace {

std::string short_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

/// Why rounds do not begin with draws that are independent of earlier ones; empty if they do.
std::string disturbed_draws(const run_settings& settings) {
  const auto& how = *settings.participation;
  if (settings.privacy->mechanism == noise_mechanism::tree)
    return "the noise of a tree is on the sum of all rounds (privacy.mechanism)";
  if (how.mode == participation_mode::async) return "an asynchronous run draws no cohorts";
  if (how.deadline > 0) return "after a deadline clients that are still busy cannot be drawn (participation.deadline)";
  if (how.min_separation > 1) return "clients that were just drawn cannot be drawn (participation.min_separation)";
  if (how.reconnect_most > 0) return "clients that were just drawn cannot be drawn (participation.reconnect)";
  return {};
}

/// Why the aggregated cohorts are not those that were drawn among all clients; empty if they are.
std::string disturbed_cohorts(const run_settings& settings, const run_population& population) {
  if (auto why = disturbed_draws(settings); !why.empty()) return why;
  const auto& dropout = *settings.dropout;
  if (settings.participation->over_selection > 1.0)
    return "the fastest clients of a larger draw are aggregated (participation.over_selection)";
  if (population.on_nodes || settings.topology->nodes > 0 || !settings.events->empty())
    return "clients come and go with their nodes or by events";
  if (settings.devices->availability.kind != "always")
    return "availability decides who can be drawn (devices.availability)";
  if (dropout.download > 0 || dropout.train > 0 || dropout.upload > 0)
    return "clients that were drawn drop out ([dropout])";
  return {};
}

}  // namespace

run_mechanism mechanism_of(const run_settings& settings, const run_population& population) {
  const auto& how = *settings.participation;
  const auto& policy = how.policy;
  run_mechanism made{.of = {.noise = settings.privacy->noise}, .unsampled = {}};
  if (settings.privacy->noise_at == noise_place::client) made.shares = how.min_reports;
  if (settings.privacy->mechanism == noise_mechanism::tree) {
    made.of.tree = settings.privacy->tree_rounds > 0 ? settings.privacy->tree_rounds
                                                     : std::max<std::uint64_t>(settings.rounds, population.rounds_made);
    made.of.apart = std::max(1U, how.min_separation);
  }
  if (policy.traits.draws_cohort) {
    made.unsampled = disturbed_draws(settings);
    // Whoever sees many values of a sum can tell its variance, and so how many clients sent a share of the noise.
    // Then two neighbouring runs are no longer told apart by their means alone, which the accountant assumes.
    if (made.unsampled.empty() && settings.privacy->noise_at == noise_place::client)
      made.unsampled =
          "the noise of clients grows with their number, which shows how many were drawn (privacy.noise_at)";
    if (!made.unsampled.empty()) return made;
    made.of.how = how.cap < population.clients ? sampling::truncated_poisson : sampling::poisson;
    made.of.rate = how.rate;
    made.of.clients = population.clients;
    made.of.cap = how.cap;
    return made;
  }
  made.unsampled = policy.traits.draws_alike ? disturbed_cohorts(settings, population)
                                             : "participation.policy = \"" + policy.kind +
                                                   "\" does not draw all clients with equal probability";
  if (!made.unsampled.empty()) return made;
  made.of.how = sampling::fixed_size;
  made.of.clients = population.clients;
  made.of.rate = std::min(1.0, how.per_round / static_cast<double>(std::max<std::uint64_t>(population.clients, 1)));
  return made;
}

mechanism mechanism_for_server(const run_settings& settings, std::uint64_t clients) {
  const auto& how = *settings.participation;
  const auto shares = static_cast<double>(how.min_reports);
  const auto cohort = static_cast<double>(public_divisor(settings, clients)) * how.over_selection;
  const double honest = std::max(0.0, shares - std::floor(colluding_clients * cohort));
  return {.noise = settings.privacy->noise * std::sqrt(honest / shares)};
}

double delta_of(const privacy_settings& settings, std::uint64_t clients) {
  if (settings.delta > 0) return settings.delta;
  return std::min(0.5, std::pow(static_cast<double>(std::max<std::uint64_t>(clients, 1)), -1.1));
}

std::uint64_t count_releases(bool by_client, const server_state& state) {
  if (!by_client) return state.version - std::min(state.version, state.counts.rounds_abandoned);
  if (!state.ledger) return 0;
  std::uint32_t most = 0;
  for (const auto& record : state.ledger->records()) most = std::max(most, record.folded);
  return most;
}

std::uint64_t even_participations(const run_settings& settings, std::uint64_t clients, std::uint64_t rounds) {
  const auto& how = *settings.participation;
  const auto all = static_cast<double>(std::max<std::uint64_t>(clients, 1));
  const double share = how.mode == participation_mode::async ? how.buffer / all
                       : how.policy.traits.draws_cohort      ? how.rate
                                                             : how.per_round / all;
  const auto even =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(rounds) * std::min(share, 1.0) * (1 - 1e-12)));
  const std::uint64_t apart = std::max(1U, how.min_separation);
  return std::min(even, (rounds + apart - 1) / apart);
}

result<privacy_budget> budget_of(const run_settings& settings, const run_population& population) {
  const auto& wanted = *settings.privacy;
  if (wanted.target_epsilon <= 0 || wanted.noise <= 0) return privacy_budget{};
  const std::string key = "privacy.target_epsilon";
  const auto how = mechanism_of(settings, population);
  const privacy_accountant account(how.of);
  const double delta = delta_of(wanted, population.clients);
  // One more than the run can make, so that a budget which its rounds use up is not spent. They fit 32 bits.
  const auto limit = std::min<std::uint64_t>(settings.rounds, UINT32_MAX) + 1;
  const auto most = account.most_releases(wanted.target_epsilon, delta, limit);
  if (most == 0)
    return fail(error::kind::usage, key,
                "is " + short_text(wanted.target_epsilon) + ", and one round has epsilon " +
                    short_text(account.bound(1, delta).epsilon) + " for delta " + short_text(delta),
                "raise it or privacy.noise, or select fewer clients");
  return privacy_budget{most, how.by_client()};
}

bool is_spent(const privacy_settings& settings, const server_state& state) {
  constexpr auto unlimited = privacy_budget{}.releases;
  if (settings.budget.releases == unlimited) return false;
  return count_releases(settings.budget.by_client, state) >= settings.budget.releases;
}

std::vector<std::string> assumptions_of(const run_mechanism& how) {
  std::vector<std::string> all;
  switch (how.of.how) {
    case sampling::truncated_poisson:
    case sampling::poisson:
      all.emplace_back("each client is drawn with probability " + short_text(how.of.rate) +
                       " in each round, independently of the others, and the draws are secret");
      if (how.of.how == sampling::truncated_poisson)
        all.emplace_back("of more than " + std::to_string(how.of.cap) +
                         " drawn clients those that stay are chosen uniformly");
      all.emplace_back("whether a client is available depends neither on its examples nor on earlier draws");
      break;
    case sampling::fixed_size:
      all.emplace_back("each round draws the same number of clients, a share of " + short_text(how.of.rate) +
                       " of all, uniformly, and the draws are secret");
      all.emplace_back("the number of clients is public: a client is replaced by another one");
      break;
    case sampling::none:
      if (!how.unsampled.empty()) all.emplace_back("nothing is amplified by sampling: " + how.unsampled);
      all.emplace_back("who takes part in which round may be known, and does not depend on anybody's examples");
      if (how.of.tree > 0)
        all.emplace_back("a client takes part in no two rounds that are less than " + std::to_string(how.of.apart) +
                         " apart, and a tree has at most " + std::to_string(how.of.tree) + " rounds");
      break;
  }
  all.emplace_back("privacy.clip bounds all that a client adds to a sum, and updates count equally");
  if (how.shares > 0)
    all.emplace_back("each client adds its share of the noise: " + std::to_string(how.shares) + " are the whole");
  return all;
}

bool is_simulated(const privacy_settings& settings, bool on_nodes) {
  return settings.noise_key == noise_keying::seed || (settings.noise_key == noise_keying::automatic && !on_nodes);
}

std::vector<std::string> not_covered(const run_settings& settings, bool on_nodes) {
  std::vector<std::string> all;
  const bool simulated = is_simulated(*settings.privacy, on_nodes);
  if (settings.participation->mode == participation_mode::sync && public_divisor(settings, 1) == 0)
    all.emplace_back(
        "the number of updates with examples, by which the noisy sum is divided (not with privacy.noise_key = "
        "\"secret\")");
  if (simulated)
    all.emplace_back(
        "noise and draws come from the scenario's seed: who knows it can subtract the noise (simulated privacy), and "
        "two runs with one seed whose cohorts differ by a client reveal its update");
  else
    all.emplace_back("rounds that a killed server makes again, with other noise: they are not counted");
  if (settings.privacy->noise_at == noise_place::client)
    all.emplace_back("what the server sees of a round without noise: the sums of counts, weights and losses");
  else
    all.emplace_back(settings.privacy->secure_aggregation
                         ? "the server, which sees the sum of a round before the noise is added: two runs with one "
                           "seed whose cohorts differ by a client reveal its update to it"
                         : "the server and its aggregators, which see updates before the noise is added");
  all.emplace_back(
      "who took part, which checkpoints, events.jsonl, cohorts.jsonl, client tables and the dashboard show: sampling "
      "hides clients only from those who do not see them");
  all.emplace_back("the counts of a round: clients that were selected, aggregated or rejected, and examples");
  all.emplace_back("training losses of rounds, and evaluation figures, which are released without noise");
  if (settings.aggregation->norm_bound != norm_bound_kind::fixed)
    all.emplace_back("limits that follow the norms of earlier updates (algorithm.aggregation.norm_bound)");
  if (settings.network->sparse_upload) all.emplace_back("which rows a client touched (network.upload = \"sparse\")");
  if (settings.evaluation->keep_best || settings.until->target)
    all.emplace_back("choices by evaluation figures (evaluation.select, until.target)");
  all.emplace_back("other runs on the same clients, as of a sweep or a tuning: epsilon and delta of all runs add up");
  all.emplace_back("private tensors, which never leave the client and get no noise");
  return all;
}

}  // namespace furlong::federated::privacy
