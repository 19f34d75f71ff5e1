// What a scenario can only settle once its data is there.
#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

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

/// The most examples in the first part that one of these clients has.
std::uint32_t most_examples(const federated::population& clients, std::span<const std::uint32_t> who) {
  std::uint32_t most = 0;
  for (const auto client : who) most = std::max(most, clients.count(client, federated::part::train));
  return most;
}

std::string examples(std::uint32_t count) { return std::to_string(count) + (count == 1 ? " example" : " examples"); }

/// Somebody must have something to learn from, or no update is of use.
result<void> check_training(const scenario& of, const federated::population& clients) {
  using federated::part;
  const auto more_than = [&](std::uint32_t few) {
    return std::ranges::any_of(clients.training(),
                               [&](auto client) { return clients.count(client, part::train) > few; });
  };
  if (!more_than(0))
    return refuse(of, "data.split",
                  "leaves no client an example to train on: the first share of what each has comes to none",
                  "raise it, or give clients more examples");
  const auto& settings = of.settings;
  const auto batch = settings.client.batch_size;
  if (settings.algorithm != federated::algorithm_kind::fedrecon || !settings.reconstruction.split || batch == 0 ||
      more_than(batch))
    return {};
  const auto most = most_examples(clients, clients.training());
  return refuse(of, "algorithm.client.batch_size",
                "is " + std::to_string(batch) + ", and no client has more than " + examples(most) +
                    ": all are in one batch, which leaves no query batch to learn from",
                most > 1 ? "set it below " + std::to_string(most) + ", or algorithm.reconstruction.split = false"
                         : "set algorithm.reconstruction.split = false, or give clients more examples");
}

/// Whether anybody of a group of the evaluation can be scored: of unseen clients that are split those can that have
/// more than the one batch which is their support.
bool can_score(const scenario& of, const federated::population& clients, std::string_view group) {
  using federated::part;
  const auto any = [&](std::span<const std::uint32_t> who, part which, std::uint32_t more_than) {
    return std::ranges::any_of(who, [&](auto client) { return clients.count(client, which) > more_than; });
  };
  if (group == "seen") return any(clients.training(), part::test, 0);
  const auto unseen = group == "unseen" ? clients.unseen_test() : clients.unseen_validation();
  if (group == "validation" && unseen.empty()) return any(clients.training(), part::validation, 0);
  const auto& settings = of.settings;
  const auto batch = settings.evaluation.batch_size > 0 ? settings.evaluation.batch_size : settings.client.batch_size;
  const auto support = !settings.evaluation.split ? 0U : batch > 0 ? batch : UINT32_MAX;
  return any(unseen, part::train, support);
}

/// What a run goes by must have somebody to score, which only the data can tell where it may bring parts of its own.
result<void> check_groups(const scenario& of, const dataset& data) {
  const auto check = [&](const char* key, const std::string& group, const char* otherwise) -> result<void> {
    if (can_score(of, *data.clients, group)) return {};
    return refuse(
        of, key, "looks at the group " + group + ", and the data has nobody in it to score",
        "set data.unseen_users or data.split, lower evaluation.batch_size, or choose " + std::string(otherwise));
  };
  const auto& settings = of.settings.evaluation;
  const auto& metric = settings.target.metric;
  if (!metric.empty())
    if (auto scored = check("evaluation.target.metric", metric.substr(0, metric.find('.')), "another group"); !scored)
      return scored;
  return settings.keep_best ? check("evaluation.select", "validation", "\"last\"") : result<void>();
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

/// What [data] gives a group of the evaluation: a share of the users, a share of what each user has.
double share_of(const scenario& of, const char* key) { return of.data.has(key) ? of.data.number(key) : 0.0; }
double share_of_split(const scenario& of, std::size_t part) {
  return of.data.has("split") ? of.data.numbers("split").at(part) : 0.0;  // three, or it is refused
}

/// A note where a share of the users comes to none of them.
void note_nobody(scenario& of, const federated::population& clients) {
  for (const std::string group : {"validation", "test"}) {
    const auto key = "unseen_users." + group;
    const bool validation = group == "validation";
    const auto held_out = validation ? clients.unseen_validation() : clients.unseen_test();
    if (!(share_of(of, key.c_str()) > 0.0) || !held_out.empty()) continue;
    const bool otherwise = validation && can_score(of, clients, group);
    of.notes.push_back("data." + key + " = " + value_text(of.data.number(key)) + " of " +
                       std::to_string(clients.facts().clients) + " users holds out nobody: the group " +
                       (validation ? "validation" : "unseen") +
                       (otherwise ? " is scored on clients that train" : " is not scored") + "; raise it");
  }
}

/// A note where a group of unseen clients has all examples of each in the one batch that is its support.
void note_one_batch(scenario& of, const federated::population& clients, const std::string& group) {
  const auto unseen = group == "unseen" ? clients.unseen_test() : clients.unseen_validation();
  if (unseen.empty() || can_score(of, clients, group)) return;
  const auto most = most_examples(clients, unseen);
  std::vector<std::string> ways;
  if (most > 1) ways.push_back("set evaluation.batch_size below " + std::to_string(most));
  if (of.settings.evaluation.reconstruct.empty()) ways.emplace_back("set evaluation.split = false");
  if (ways.empty()) ways.emplace_back("give clients more examples");
  of.notes.push_back("the group " + group +
                     " is not scored: no client of it has more than one batch of examples, which is its support; " +
                     listed(ways, "or"));
}

/// A note where a part that [data] asks for is empty with all clients that train.
void note_empty_part(scenario& of, const federated::population& clients, const std::string& group, double share) {
  if (!(share > 0.0) || can_score(of, clients, group)) return;
  of.notes.push_back("the group " + group +
                     " is not scored: no client has an example for it; raise its share of data.split, or give clients "
                     "more examples");
}

/// A note for each group that is asked for and that nobody can be scored of.
void note_groups(scenario& of, const federated::population& clients) {
  note_nobody(of, clients);
  note_one_batch(of, clients, "validation");
  note_one_batch(of, clients, "unseen");
  const bool nobody = share_of(of, "unseen_users.validation") > 0.0;  // then there is a note already
  if (clients.unseen_validation().empty() && !nobody) note_empty_part(of, clients, "validation", share_of_split(of, 1));
  note_empty_part(of, clients, "seen", share_of_split(of, 2));
}

/// Notes about who is scored; one for all where the source could not tell beforehand that nobody is.
void note_unscored(scenario& of, const dataset& data) {
  if (!data.whole) return;
  const auto before = of.notes.size();
  note_groups(of, *data.clients);
  if (of.notes.size() > before || !find_dataset(of.data_source)->has_own_parts) return;
  for (const std::string group : {"validation", "seen", "unseen"})
    if (can_score(of, *data.clients, group)) return;
  of.notes.push_back(
      "nothing is scored: nobody has examples for it; set data.split = [0.8, 0.1, 0.1] or data.unseen_users, or lower "
      "evaluation.batch_size");
}

/// The tensors that evaluation.reconstruct names unless it is set, in order.
std::vector<std::string> personal_names(const scenario& of, const models::layout& tensors) {
  std::vector<std::string> names;
  for (const auto& spec : tensors.tensors())
    if (spec.index == models::row_index::by_client ||
        std::ranges::find(of.private_tensors, spec.name) != of.private_tensors.end())
      names.push_back(spec.name);
  return names;
}

/// A note where tensors are to be rebuilt before clients are scored, and are not. A resolved scenario names the
/// default.
result<void> note_untuned(scenario& of, const dataset& data) {
  using federated::cold_start_kind;
  const std::string key = "evaluation.reconstruct";
  const auto& rebuilt = of.settings.evaluation.reconstruct;
  const bool as_they_are = of.settings.algorithm == federated::algorithm_kind::furl &&
                           of.settings.own.cold_start == cold_start_kind::initial;
  if (rebuilt.empty() || !as_they_are) return {};
  const auto model = build_model(of, data.clients->facts());
  if (!model) return tl::unexpected(model.error());
  const auto at = of.places.find(key);
  if ((at != of.places.end() && at->second.starts_with("--set")) || rebuilt != personal_names(of, *(*model)->tensors()))
    of.notes.push_back(key +
                       " has no effect on the run: under furl clients are scored as they are, unless "
                       "private.cold_start is \"reconstruct\"");
  return {};
}

}  // namespace

result<void> fit(scenario& to, const dataset& data) {
  const auto clients = data.clients->training().size();
  if (clients == 0) return refuse(to, "data.unseen_users.test", "no client is left to train", "hold out fewer users");
  if (auto possible = check_policy(to, data); !possible) return possible;
  if (data.whole) {
    if (auto possible = check_training(to, *data.clients); !possible) return possible;
    if (auto scored = check_groups(to, data); !scored) return scored;
  }
  if (auto settled = settle_cohort(to, clients); !settled) return settled;
  if (auto fits = check_cohort(to); !fits) return fits;
  settle_rounds(to, clients);
  if (auto fits = check_events(to, data.clients->facts().clients); !fits) return fits;
  note_unscored(to, data);
  if (auto noted = note_untuned(to, data); !noted) return noted;
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
