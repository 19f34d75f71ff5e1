// Settles the parts of a scenario that depend on its data.
#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "base/registry.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/privacy/run_account.hpp"
#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/membership.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/fit_attack.hpp"
#include "scenarios/schema/fit_robust.hpp"
#include "scenarios/schema/fit_update.hpp"
#include "scenarios/schema/ranking_keys.hpp"
#include "scenarios/schema/records.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::uint64_t endless = 4294967295U;              ///< rounds, if unbounded
constexpr std::size_t many_families = 20'000;               ///< clients from which on a column family each is slow
constexpr std::size_t most_parameters = (1ULL << 27U) - 1;  ///< a checkpoint holds fewer than 512 MiB of them

/// Fails if a number of clients exceeds the number available.
result<void> check_count(const scenario& run, const std::string& key, std::uint64_t asked, std::size_t clients) {
  const auto count = std::to_string(clients);
  if (asked <= clients) return {};
  return refuse(run, key, "is " + std::to_string(asked) + ", and " + count + " clients can train",
                "lower it to " + count);
}

result<void> settle_cohort(scenario& run, std::size_t clients) {
  auto& settings = *run.settings.participation;
  if (!run.settings.algorithm->traits.sends) {
    settings.per_round = 1;  // all clients pooled into one
    return {};
  }
  if (settings.mode == federated::participation_mode::async) {
    if (auto fits = check_count(run, "participation.buffer", settings.buffer, clients); !fits) return fits;
    if (auto fits = check_count(run, "participation.concurrency", settings.concurrency, clients); !fits) return fits;
    settings.per_round = settings.buffer;  // updates per version
    return {};
  }
  if (settings.policy.traits.draws_cohort) {
    const auto mean = settings.rate * static_cast<double>(clients);
    if (mean > settings.cap)
      return refuse(run, "participation.rate",
                    "selects " + std::to_string(std::lround(mean)) + " of " + std::to_string(clients) +
                        " clients a round on average, more than participation.cap, " + std::to_string(settings.cap),
                    "lower it, or raise participation.cap");
    settings.per_round = static_cast<std::uint32_t>(std::min<std::size_t>(settings.cap, clients));
    return {};
  }
  if (run.values.has("participation.fraction")) {
    const double share = run.values.number("participation.fraction") * static_cast<double>(clients);
    settings.per_round = std::max(1U, static_cast<std::uint32_t>(std::lround(share)));
    return {};
  }
  const auto wanted = static_cast<std::uint64_t>(run.values.integer("participation.per_round"));
  if (auto fits = check_count(run, "participation.per_round", wanted, clients); !fits) return fits;
  settings.per_round = static_cast<std::uint32_t>(wanted);
  return {};
}

/// Clients selected per synchronous round; updates per asynchronous version.
std::uint64_t asked_of(const federated::participation_settings& settings) {
  if (settings.mode == federated::participation_mode::async) return settings.buffer;
  return asked_per_round(settings);
}

/// Of so many selected clients, those that secure aggregation needs.
std::uint64_t fewest_survivors(std::uint64_t selected) { return selected - selected / 3; }

/// participation.min_reports = 0.
void settle_reports(scenario& run) {
  auto& participation = *run.settings.participation;
  if (participation.min_reports > 0) return;
  const bool shares = run.settings.privacy->noise_at == federated::noise_place::client;
  participation.min_reports = shares ? static_cast<std::uint32_t>(fewest_survivors(asked_of(participation))) : 1;
}

/// The parts of [participation] that depend on the number of clients per round.
result<void> check_cohort(const scenario& run, std::size_t clients) {
  const auto& settings = *run.settings.participation;
  const bool async = settings.mode == federated::participation_mode::async;
  const auto& rule = run.settings.aggregation->rule;
  const auto most = rule.traits.most_updates;
  const auto asked = asked_of(settings);
  if (asked > most)
    return refuse(run,
                  async                                 ? "participation.buffer"
                  : settings.policy.traits.draws_cohort ? "participation.cap"
                                                        : "participation.per_round",
                  (async ? "gathers " + std::to_string(asked) + " updates"
                         : "asks " + std::to_string(asked) + " clients a round") +
                      ", more than the exact sums of the rule " + rule.kind + " hold",
                  (async ? "gather at most " : "ask at most ") + std::to_string(most));
  if (async) return {};
  if (settings.min_reports > settings.per_round)
    return refuse(run, "participation.min_reports",
                  "is more than the " + std::to_string(settings.per_round) + " reports that close a round",
                  "lower it, or raise participation.fraction");
  const auto apart = std::max(1U, settings.min_separation);
  if (!settings.policy.traits.draws_cohort && apart > 1 && asked * apart > clients)
    return refuse(
        run, "participation.min_separation",
        "keeps " + std::to_string(asked * apart) + " clients busy or waiting, " + std::to_string(asked) +
            " in each of " + std::to_string(apart) + " rounds, and " + std::to_string(clients) + " can train",
        "lower it to " + std::to_string(std::max<std::uint64_t>(1, clients / asked)) + ", or select fewer clients");
  if (settings.policy.traits.draws_candidates && settings.candidates != 0 && settings.candidates < asked)
    return refuse(run, "participation.candidates",
                  "is fewer than the " + std::to_string(asked) + " clients that are asked of them",
                  "raise it, or write 0 for twice as many");
  return {};
}

/// How likely fewer than `fewest` of the clients are drawn with this rate.
double too_few_drawn(double rate, std::size_t clients, std::size_t fewest) {
  double total = 0.0;
  for (std::uint32_t drawn = 0; drawn < std::min(fewest, clients + 1); ++drawn) {
    const auto n = static_cast<double>(clients);
    const double ways = std::lgamma(n + 1) - std::lgamma(drawn + 1.0) - std::lgamma(n - drawn + 1);
    total += std::exp(ways + drawn * std::log(rate) + (n - drawn) * std::log1p(-rate));
  }
  return total;
}

/// How likely a drawn client drops out of its task.
double lost_share(const federated::dropout_settings& dropout) {
  if (dropout.policy == federated::dropout_policy::pause) return 0.0;
  return 1.0 - (1.0 - dropout.download) * (1.0 - dropout.train) * (1.0 - dropout.upload);
}

/// An upper bound of the probability that more than a third of a drawn cohort is lost: that of Chernoff, whose mean
/// over all cohorts is the generating function of their size.
double third_lost(double rate, std::size_t clients, double lost) {
  constexpr double third = 1.0 / 3;
  if (lost <= 0.0) return 0.0;
  if (lost >= third) return 1.0;
  const double exponent = third * std::log(third / lost) + (1 - third) * std::log((1 - third) / (1 - lost));
  return std::exp(static_cast<double>(clients) * std::log1p(-rate * -std::expm1(-exponent)));
}

/// The parts of privacy.secure_aggregation that depend on the number of clients per round.
result<void> check_secure_cohort(const scenario& run, std::size_t clients) {
  const auto& participation = *run.settings.participation;
  const auto& privacy = *run.settings.privacy;
  if (!privacy.secure_aggregation || participation.mode == federated::participation_mode::async) return {};
  if (!participation.policy.traits.draws_cohort) {
    const auto asked = asked_of(participation);
    if (participation.per_round >= fewest_survivors(asked)) return {};
    return refuse(run, "participation.over_selection",
                  "selects " + std::to_string(asked) + " clients for " + std::to_string(participation.per_round) +
                      " reports, and a sum is opened only if two thirds of the selected clients report",
                  "lower it");
  }
  if (privacy.noise <= 0 || participation.rate >= 1.0) return {};
  const auto rounds = static_cast<double>(std::min<std::uint64_t>(run.settings.rounds, endless));
  const auto fewest = std::max<std::size_t>(federated::privacy::fewest_clients, participation.min_reports);
  const double allowed = federated::privacy::delta_of(privacy, clients);
  const double lost = lost_share(*run.settings.dropout);
  if (rounds * third_lost(participation.rate, clients, lost) > allowed)
    return refuse(run, "privacy.secure_aggregation",
                  "opens a sum only with two thirds of the drawn clients, and [dropout] loses more too often: such a "
                  "round is abandoned, which reveals who was drawn, and privacy.noise hides that",
                  "lower [dropout], raise participation.rate, or remove it");
  if (rounds * too_few_drawn(participation.rate * (1.0 - lost), clients, fewest) <= allowed) return {};
  return refuse(
      run, "participation.rate",
      "gets the updates of fewer than " + std::to_string(fewest) + " of " + std::to_string(clients) +
          " clients too often: such a round is abandoned, which reveals how many were drawn, and privacy.noise "
          "hides that",
      fewest > federated::privacy::fewest_clients ? "raise it, or lower participation.min_reports"
                                                  : "raise it, or remove privacy.secure_aggregation");
}

void settle_rounds(scenario& run, std::size_t clients) {
  auto& settings = run.settings;
  const auto given = [&](const char* key) { return static_cast<std::uint64_t>(run.values.integer(key)); };
  if (run.values.has("scenario.rounds")) {
    settings.rounds = given("scenario.rounds");
  } else if (run.values.has("scenario.epochs")) {
    const auto epochs = given("scenario.epochs");
    const auto& participation = *settings.participation;
    const std::uint64_t at_once = participation.per_round;
    const bool pooled = !settings.algorithm->traits.sends;
    settings.rounds = pooled ? epochs
                      : participation.policy.traits.draws_cohort
                          ? static_cast<std::uint64_t>(std::ceil(static_cast<double>(epochs) / participation.rate))
                          : (epochs * clients + at_once - 1) / at_once;
  } else {
    settings.rounds = run.values.has("scenario.until.rounds") ? given("scenario.until.rounds") : endless;
  }
}

/// Nodes without clients, and events about clients or rounds that do not exist.
result<void> check_events(const scenario& run, std::size_t population) {
  if (run.settings.topology->nodes > population)
    return refuse(run, "topology.nodes",
                  "is " + std::to_string(run.settings.topology->nodes) + ", and there are " +
                      std::to_string(population) + " clients",
                  "choose fewer nodes");
  const auto& events = *run.settings.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto name = record_name("event", i);
    const auto& event = events[i];
    if (event.at_round && event.round > run.settings.rounds)
      return refuse(run, name + ".at", "is after the last round, " + std::to_string(run.settings.rounds),
                    "choose an earlier round");
    if (event.target == federated::event_target::clients && event.share == 0.0 && event.last >= population)
      return refuse(run, name + "." + event_words()[static_cast<std::size_t>(event.what)],
                    "names client " + std::to_string(event.last) + ", and there are " + std::to_string(population),
                    "they are numbered from 0 to " + std::to_string(population - 1));
  }
  return {};
}

/// A client that joins first is absent before; one that leaves first is present: the order must be known.
result<void> check_first_events(const scenario& run, std::uint32_t population) {
  const auto& events = *run.settings.events;
  if (events.empty()) return {};
  const auto timed = federated::first_events_of(run.settings, false, population);
  const auto rounds = federated::first_events_of(run.settings, true, population);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    const bool joins = event.what == federated::event_kind::join;
    if (!event.at_round || (!joins && event.what != federated::event_kind::leave)) continue;
    const auto& here = joins ? rounds.joining : rounds.leaving;
    const auto& there = joins ? timed.leaving : timed.joining;
    const auto whom = federated::clients_of(event, i, run.settings.seed, population);
    for (std::uint32_t client = 0; client < population; ++client)
      if (whom.contains(client) && here.contains(client) && there.contains(client))
        return refuse(run, record_name("event", i) + ".at",
                      "is a round, and another event has client " + std::to_string(client) +
                          (joins ? " leave" : " join") + " at a time: which of them comes first is not known",
                      "write both with times, or both with rounds");
  }
  return {};
}

std::string examples(std::uint32_t count) { return std::to_string(count) + (count == 1 ? " example" : " examples"); }

/// At least one client must have examples for training.
result<void> check_training(const scenario& run, const federated::population& clients) {
  using federated::part;
  const auto more_than = [&](std::uint32_t few) {
    return std::ranges::any_of(clients.training(),
                               [&](auto client) { return clients.count(client, part::train) > few; });
  };
  if (!more_than(0))
    return refuse(run, "data.split",
                  "leaves no client an example to train on: the first share of what each has comes to none",
                  "raise it, or give clients more examples");
  const auto& settings = run.settings;
  const auto batch = settings.client->batch_size;
  if (!settings.algorithm->traits.splits_support || !settings.reconstruction->split || batch == 0 || more_than(batch))
    return {};
  const auto most = most_examples(clients, clients.training());
  return refuse(run, "algorithm.client.batch_size",
                "is " + std::to_string(batch) + ", and no client has more than " + examples(most) +
                    ": all are in one batch, which leaves no query batch to learn from",
                most > 1 ? "set it below " + std::to_string(most) + ", or algorithm.reconstruction.split = false"
                         : "set algorithm.reconstruction.split = false, or give clients more examples");
}

/// A server without data cannot select clients by it.
result<void> check_policy(const scenario& run, const dataset& data) {
  const auto& policy = run.settings.participation->policy;
  if (data.whole || !policy.traits.needs_examples) return {};
  return refuse(
      run, "participation.policy",
      "chooses clients by how many examples they have, which only nodes know of source = \"" + run.data_source + "\"",
      "choose uniform, round-robin or least-recent");
}

/// The tensors of evaluation.reconstruct unless it is set, in order.
std::vector<std::string> personal_names(const scenario& run, const models::layout& tensors) {
  std::vector<std::string> names;
  for (const auto& spec : tensors.tensors())
    if (spec.index == models::row_index::by_client ||
        std::ranges::find(run.private_tensors, spec.name) != run.private_tensors.end())
      names.push_back(spec.name);
  return names;
}

/// A model that does not fit into a checkpoint would be lost at the end of the run.
result<void> check_model(const scenario& run, const models::model& model) {
  const auto parameters = model.tensors()->size();
  if (parameters <= most_parameters) return {};
  return refuse(run, "model.kind",
                "the model has " + std::to_string(parameters) + " parameters, and a checkpoint holds at most " +
                    std::to_string(most_parameters),
                "make it smaller (model.*), or take fewer items or words (data.*)");
}

/// Notes tensors that should be reconstructed before scoring but are not. A resolved scenario lists the default.
void note_untuned(scenario& run, const models::model& model) {
  using federated::cold_start_kind;
  const std::string key = "evaluation.reconstruct";
  if (is_registered(*federated::find_algorithm(run.settings.algorithm->kind))) return;  // personalize() may be its own
  const auto& rebuilt = run.settings.evaluation->reconstruct;
  const bool as_they_are = run.settings.algorithm->traits.keeps_state && !run.private_tensors.empty() &&
                           run.settings.own->cold_start == cold_start_kind::initial;
  if (rebuilt.empty() || !as_they_are) return;
  const auto found = run.places.find(key);
  if ((found != run.places.end() && found->second.starts_with("--")) ||
      rebuilt != personal_names(run, *model.tensors()))
    run.notes.push_back(key + " has no effect on the run: under " + run.settings.algorithm->kind +
                        " clients are scored as they are, unless private.cold_start is \"reconstruct\"");
}

/// Devices may correlate with the clients' labels; not all data determine these.
void note_taste(scenario& run, const dataset& data) {
  const auto& devices = *run.settings.devices;
  if (!data.whole || (devices.speed_taste == 0.0 && devices.availability_taste == 0.0)) return;
  if (std::ranges::any_of(data.clients->training(), [&](auto client) { return data.clients->taste(client) != 0.0; }))
    return;
  for (const char* name : {"speed_taste", "availability_taste"})
    if (const auto key = std::string("devices.correlation.") + name; run.values.number(key) != 0.0)
      run.notes.push_back(key + " has no effect: labels of these data do not show clients' tastes");
}

}  // namespace

result<void> fit(scenario& run, const dataset& data) {
  const auto clients = data.clients->training().size();
  if (clients == 0) return refuse(run, "data.unseen_users.test", "no client is left to train", "hold out fewer users");
  if (auto possible = check_policy(run, data); !possible) return possible;
  if (data.whole) {
    if (auto possible = check_training(run, *data.clients); !possible) return possible;
    if (auto scored = check_groups(run, data); !scored) return scored;
  }
  if (auto settled = settle_cohort(run, clients); !settled) return settled;
  settle_reports(run);
  if (auto fits = check_cohort(run, clients); !fits) return fits;
  settle_rounds(run, clients);
  if (auto fits = check_secure_cohort(run, clients); !fits) return fits;
  if (auto fits = check_events(run, data.clients->facts().clients); !fits) return fits;
  if (auto fits = check_first_events(run, data.clients->facts().clients); !fits) return fits;
  if (auto fits = check_tolerated(run); !fits) return fits;
  if (auto fits = check_root(run, data.clients->training()); !fits) return fits;
  if (auto fits = check_attackers(run, data.clients->training()); !fits) return fits;
  if (auto found = settle_attack(run, data); !found) return found;
  note_attackers(run, data.clients->training());
  note_unscored(run, data);
  const auto model = build_model(run, data, &run.notes);
  if (!model) return tl::unexpected(model.error());
  if (auto fits = check_model(run, **model); !fits) return fits;
  if (auto fits = check_update(run, *model, data); !fits) return fits;
  note_untuned(run, **model);
  run.notes.insert(run.notes.end(), data.notes.begin(), data.notes.end());
  auto& settings = run.settings;
  if (auto found = settle_exposed(run, data); !found) return found;
  settings.evaluation->clip_low = data.label_low;
  settings.evaluation->clip_high = data.label_high;
  note_taste(run, data);
  if (settings.algorithm->traits.keeps_state && clients >= many_families &&
      settings.own->layout == federated::layout_kind::per_client)
    run.notes.push_back("private.layout = \"bucketed\" is advised: " + std::to_string(clients) +
                        " clients with a column family each slow the run down (100,000 trained at 182 a second), and "
                        "take long to open");
  return {};
}

}  // namespace furlong::scenarios
