#include "scenarios/schema/scored_groups.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "federated/evaluation/evaluation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// "file:line:column: key" or "--set KEY", as in problems.
std::string place_of(const scenario& run, const std::string& key) {
  const auto found = run.places.find(key);
  return keyed_place(found == run.places.end() ? run.file : found->second, key);
}

/// True if half of the examples of unseen clients are support, where they have no part to score.
bool halves_unseen(const scenario& given) {
  const auto& settings = given.settings;
  const bool as_they_are = settings.algorithm->traits.keeps_state && !given.private_tensors.empty() &&
                           settings.own->cold_start == federated::cold_start_kind::initial;
  return settings.evaluation->split.value_or(!as_they_are && !settings.evaluation->reconstruct.empty());
}

/// True if a client of an evaluation group can be scored.
bool can_score(const scenario& run, const federated::population& clients, std::string_view group) {
  using federated::part;
  const auto any = [&](std::span<const std::uint32_t> members, part which, std::uint32_t more_than) {
    return std::ranges::any_of(members, [&](auto client) { return clients.count(client, which) > more_than; });
  };
  if (group == "seen" || group == "train")
    return any(clients.training(), group == "seen" ? part::test : part::train, 0);
  const auto named = group == "unseen" ? part::test : part::validation;
  const auto unseen = group == "unseen" ? clients.unseen_test() : clients.unseen_validation();
  if (group == "validation" && unseen.empty()) return any(clients.training(), part::validation, 0);
  return any(unseen, named, 0) || any(unseen, part::train, halves_unseen(run) ? 1 : 0);
}

/// The share that [data] gives an evaluation group: of the users, or of each user's examples.
double share_of(const scenario& of, const char* key) { return of.data.has(key) ? of.data.number(key) : 0.0; }
double share_of_split(const scenario& run, std::size_t part) {
  return run.data.has("split") ? run.data.numbers("split").at(part) : 0.0;  // three, or it was rejected
}

/// Notes a share of the users that rounds to none.
void note_nobody(scenario& run, const federated::population& clients) {
  for (const std::string group : {"validation", "test"}) {
    const auto key = "unseen_users." + group;
    const bool validation = group == "validation";
    const auto held_out = validation ? clients.unseen_validation() : clients.unseen_test();
    if (!(share_of(run, key.c_str()) > 0.0) || !held_out.empty()) continue;
    const bool otherwise = validation && can_score(run, clients, group);
    run.notes.push_back("data." + key + " = " + value_text(run.data.number(key)) + " of " +
                        std::to_string(clients.facts().clients) + " users holds out nobody: the group " +
                        (validation ? "validation" : "unseen") +
                        (otherwise ? " is scored on clients that train" : " is not scored") + "; raise it");
  }
}

/// Notes a group of unseen clients of which nobody has an example to score.
void note_support_only(scenario& given, const federated::population& clients, const std::string& group) {
  const auto unseen = group == "unseen" ? clients.unseen_test() : clients.unseen_validation();
  if (unseen.empty() || can_score(given, clients, group)) return;
  given.notes.push_back("the group " + group +
                        " is not scored: no client of it has two examples, one to adapt to and one to score; give " +
                        "clients more examples" +
                        (given.settings.evaluation->reconstruct.empty() ? ", or remove evaluation.split" : ""));
}

/// Notes a part that is empty for all training clients.
void note_empty_part(scenario& run, const federated::population& clients, const std::string& group, double share) {
  if (!(share > 0.0) || can_score(run, clients, group)) return;
  run.notes.push_back("the group " + group +
                      " is not scored: no client has an example for it; raise its share of data.split, or give clients "
                      "more examples");
}

/// Notes how many training clients have no item to rank.
void note_without_items(scenario& given, const federated::population& clients) {
  if (clients.facts().labels != models::objective::ranking || !can_score(given, clients, "seen")) return;
  const auto count = std::ranges::count_if(
      clients.training(), [&](auto client) { return clients.count(client, federated::part::test) == 0; });
  if (count > 0)
    given.notes.push_back(std::to_string(count) + " of " + std::to_string(clients.training().size()) +
                          " clients that train have no test item: the group seen is scored on the others");
}

/// Notes each group without clients that can be scored, unless the scenario scores some groups only.
void note_groups(scenario& run, const federated::population& clients) {
  if (run.settings.evaluation->groups != federated::evaluation_settings::default_groups) return;
  note_nobody(run, clients);
  note_support_only(run, clients, "validation");
  note_support_only(run, clients, "unseen");
  const bool nobody = share_of(run, "unseen_users.validation") > 0.0;  // already noted
  if (clients.unseen_validation().empty() && !nobody)
    note_empty_part(run, clients, "validation", share_of_split(run, 1));
  note_empty_part(run, clients, "seen", share_of_split(run, 2));
}

}  // namespace

tl::unexpected<error> refuse(const scenario& run, const std::string& key, std::string why, std::string fix) {
  return fail(error::kind::usage, place_of(run, key), std::move(why), std::move(fix));
}

std::uint32_t most_examples(const federated::population& clients, std::span<const std::uint32_t> members) {
  std::uint32_t most = 0;
  for (const auto client : members) most = std::max(most, clients.count(client, federated::part::train));
  return most;
}

result<void> check_groups(const scenario& run, const dataset& data) {
  const auto check = [&](const char* key, const std::string& group, const char* otherwise) -> result<void> {
    if (can_score(run, *data.clients, group)) return {};
    return refuse(run, key, "looks at the group " + group + ", and the data has nobody in it to score",
                  "set data.unseen_users or data.split, or choose " + std::string(otherwise));
  };
  const auto& settings = *run.settings.evaluation;
  const auto& metric = settings.target.metric;
  if (!metric.empty())
    if (auto scored = check("evaluation.target.metric", metric.substr(0, metric.find('.')), "another group"); !scored)
      return scored;
  const auto& groups = settings.groups;
  if (groups != federated::evaluation_settings::default_groups)
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups[i])
        if (auto scored = check("evaluation.groups", std::string(federated::group_names[i]), "others"); !scored)
          return scored;
  if (settings.keep_best)
    if (auto scored = check("evaluation.select", "validation", "\"last\""); !scored) return scored;
  if (run.settings.until->patience > 0)
    if (auto scored = check("scenario.until.patience", "validation", "another end of the run"); !scored) return scored;
  return settings.metric.empty() ? result<void>() : check("evaluation.metric", "validation", "none");
}

void note_unscored(scenario& run, const dataset& data) {
  if (!data.whole) return;
  if (run.settings.evaluation->groups[static_cast<std::size_t>(federated::group::seen)])
    note_without_items(run, *data.clients);
  const auto before = run.notes.size();
  note_groups(run, *data.clients);
  if (run.notes.size() > before || !find_dataset(run.data_source)->has_own_parts) return;
  for (std::size_t i = 0; i < federated::group_names.size(); ++i)
    if (run.settings.evaluation->groups[i] && can_score(run, *data.clients, federated::group_names[i])) return;
  run.notes.push_back(
      "nothing is scored: nobody has examples for it; set data.split = [0.8, 0.1, 0.1] or data.unseen_users");
}

std::span<const personal_tensor> personal_tensors() {
  static constexpr std::array<personal_tensor, 8> tensors{{
      {"matrix-factorization", "user", "model.user_table = false"},
      {"matrix-factorization", "user_bias", "model.user_bias = true"},
      {"score-function", "score", ""},
      {"score-function", "own_item", "model.own_items = true"},
      {"neural-cf", "user", "model.user_table = false"},
      {"logistic-regression", "user_bias", "model.user_bias = true"},
      {"doc-classifier", "user", "model.user_embedding = 4"},
      {"lstm-nwp", "oov_embedding", "data.buckets = 50"},
  }};
  return tensors;
}

}  // namespace furlong::scenarios
