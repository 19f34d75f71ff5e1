// What a scenario can only settle once its data is there.
#include <algorithm>
#include <cmath>

#include "scenarios/draft.hpp"
#include "scenarios/records.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::uint64_t endless = 4294967295U;  ///< rounds, where nothing says how many
constexpr std::size_t many_families = 100000;   ///< clients beyond which a column family for each is a burden

/// "file:line:column: key", as in problems.
std::string place_of(const scenario& of, const std::string& key) {
  const auto at = of.places.find(key);
  return (at == of.places.end() ? of.file : at->second) + ": " + key;
}

tl::unexpected<error> refuse(const scenario& of, const std::string& key, std::string why, std::string mend) {
  return fail(error::kind::usage, place_of(of, key), std::move(why), std::move(mend));
}

/// Fails when a number of clients is more than there are.
result<void> check_count(const scenario& of, const std::string& key, std::uint64_t asked, std::size_t clients) {
  const auto count = std::to_string(clients);
  if (asked <= clients) return {};
  return refuse(of, key, "is " + std::to_string(asked) + ", and " + count + " clients can train",
                "lower it to " + count);
}

result<void> settle_cohort(scenario& to, std::size_t clients) {
  auto& settings = to.settings.participation;
  if (to.settings.algorithm == federated::algorithm_kind::centralized) {
    settings.per_round = 1;  // all clients pooled into one
    return {};
  }
  if (settings.mode == federated::participation_mode::async) {
    if (auto fits = check_count(to, "participation.buffer", settings.buffer, clients); !fits) return fits;
    if (auto fits = check_count(to, "participation.concurrency", settings.concurrency, clients); !fits) return fits;
    settings.per_round = settings.buffer;  // what makes a new version
    return {};
  }
  if (to.values.has("participation.fraction")) {
    const double share = to.values.number("participation.fraction") * static_cast<double>(clients);
    settings.per_round = std::max(1U, static_cast<std::uint32_t>(std::lround(share)));
    return {};
  }
  const auto wanted = static_cast<std::uint64_t>(to.values.integer("participation.per_round"));
  if (auto fits = check_count(to, "participation.per_round", wanted, clients); !fits) return fits;
  settings.per_round = static_cast<std::uint32_t>(wanted);
  return {};
}

/// Clients that a synchronous round asks; the updates of an asynchronous version.
std::uint64_t asked_of(const federated::participation_settings& of) {
  if (of.mode == federated::participation_mode::async) return of.buffer;
  return static_cast<std::uint64_t>(std::ceil(of.per_round * of.over_selection));
}

/// What of [participation] depends on the number of clients a round.
result<void> check_cohort(const scenario& of) {
  const auto& settings = of.settings.participation;
  const bool async = settings.mode == federated::participation_mode::async;
  const bool attends = of.settings.aggregation.rule == federated::rule_kind::fedatt;
  const std::uint64_t most = attends ? 4096U : 1U << 20;
  const auto asked = asked_of(settings);
  if (asked > most)
    return refuse(of, async ? "participation.buffer" : "participation.per_round",
                  (async ? "gathers " + std::to_string(asked) + " updates"
                         : "asks " + std::to_string(asked) + " clients a round") +
                      ", more than the exact sums of " + (attends ? "fedatt" : "the mean") + " hold",
                  (async ? "gather at most " : "ask at most ") + std::to_string(most));
  if (async) return {};
  if (settings.min_reports > settings.per_round)
    return refuse(of, "participation.min_reports",
                  "is more than the " + std::to_string(settings.per_round) + " reports that close a round",
                  "lower it, or raise participation.fraction");
  if (settings.policy == federated::policy_kind::power_of_choice && settings.candidates != 0 &&
      settings.candidates < asked)
    return refuse(of, "participation.candidates",
                  "is fewer than the " + std::to_string(asked) + " clients that are asked of them",
                  "raise it, or write 0 for twice as many");
  return {};
}

void settle_rounds(scenario& to, std::size_t clients) {
  auto& settings = to.settings;
  const auto given = [&](const char* key) { return static_cast<std::uint64_t>(to.values.integer(key)); };
  if (to.values.has("scenario.rounds")) {
    settings.rounds = given("scenario.rounds");
  } else if (to.values.has("scenario.epochs")) {
    const auto epochs = given("scenario.epochs");
    const std::uint64_t at_once = settings.participation.per_round;
    const bool centralized = settings.algorithm == federated::algorithm_kind::centralized;
    settings.rounds = centralized ? epochs : (epochs * clients + at_once - 1) / at_once;
  } else {
    settings.rounds = to.values.has("scenario.until.rounds") ? given("scenario.until.rounds") : endless;
  }
}

/// Events about clients that there are not, or after the last round.
result<void> check_events(const scenario& of, std::size_t population) {
  const auto& events = of.settings.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto name = record_name("event", i);
    const auto& event = events[i];
    if (event.at_round && event.round > of.settings.rounds)
      return refuse(of, name + ".at", "is after the last round, " + std::to_string(of.settings.rounds),
                    "choose an earlier round");
    if (event.share == 0.0 && event.last >= population)
      return refuse(of, name + "." + event_words()[static_cast<std::size_t>(event.what)],
                    "names client " + std::to_string(event.last) + ", and there are " + std::to_string(population),
                    "they are numbered from 0 to " + std::to_string(population - 1));
  }
  return {};
}

/// A server that has nobody's data cannot choose by them.
result<void> check_policy(const scenario& of, const dataset& data) {
  using federated::policy_kind;
  const auto policy = of.settings.participation.policy;
  if (data.whole || (policy != policy_kind::weight && policy != policy_kind::power_of_choice)) return {};
  return refuse(
      of, "participation.policy",
      "chooses clients by how many examples they have, which only nodes know of source = \"" + of.data_source + "\"",
      "choose uniform, round-robin or least-recent");
}

}  // namespace

result<void> fit(scenario& to, const dataset& data) {
  const auto clients = data.clients->training().size();
  if (clients == 0) return refuse(to, "data.unseen_users.test", "no client is left to train", "hold out fewer users");
  if (auto possible = check_policy(to, data); !possible) return possible;
  if (auto settled = settle_cohort(to, clients); !settled) return settled;
  if (auto fits = check_cohort(to); !fits) return fits;
  settle_rounds(to, clients);
  if (auto fits = check_events(to, data.clients->facts().clients); !fits) return fits;
  to.notes.insert(to.notes.end(), data.notes.begin(), data.notes.end());
  auto& settings = to.settings;
  settings.evaluation.clip_low = data.label_low;
  settings.evaluation.clip_high = data.label_high;
  if (settings.algorithm == federated::algorithm_kind::furl && clients > many_families &&
      settings.own.layout == federated::layout_kind::per_client)
    to.notes.push_back("private.layout = \"bucketed\" is advised: " + std::to_string(clients) +
                       " clients with a column family each take long to make and to open");
  return {};
}

}  // namespace furlong::scenarios
