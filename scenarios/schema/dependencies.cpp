#include "scenarios/schema/dependencies.hpp"

#include <algorithm>
#include <set>

#include "federated/attack/attack.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

using traits = federated::algorithm_traits;

/// "table.{a b c}": the keys a, b and c of a table.
std::vector<std::string> keys_in(const std::string& table, const std::string& names) {
  auto keys = split_words(names);
  for (auto& key : keys) key.insert(0, table + ".");
  return keys;
}

/// The policies that draw the cohort, or those that do not.
std::vector<std::string> policies(bool draw_cohort) {
  std::vector<std::string> kinds;
  for (const auto& entry : federated::registered_policies())
    if (entry.traits.draws_cohort == draw_cohort) kinds.push_back(entry.kind);
  return kinds;
}

/// The keys of attacks, each with the attacks that have it.
void add_attacks(std::vector<dependency>& made) {
  condition any{.key = "attack.kind"};
  std::vector<std::string> options;
  for (const auto& entry : federated::attacks()) {
    any.words.push_back(entry.kind);
    for (const auto& option : entry.options)
      if (std::ranges::find(options, option.name) == options.end()) options.push_back(option.name);
  }
  for (const auto& name : options) {
    condition having{.key = "attack.kind"};
    for (const auto& entry : federated::attacks())
      if (std::ranges::find(entry.options, name, &option_spec::name) != entry.options.end())
        having.words.push_back(entry.kind);
    made.push_back({keys_in("attack", name), having});
  }
  made.push_back({keys_in("attack", "clients list from_round"), any});
}

std::vector<dependency> make() {
  const std::string participation = "participation";
  const std::string availability = "devices.availability";
  const std::string reconstruction = "algorithm.reconstruction";
  return {
      {keys_in("private", "commit layout open_shards key_file"),
       {.trait = &traits::keeps_state, .otherwise = "keeps nothing from round to round"}},
      {keys_in(participation,
               "per_round fraction policy candidates rate cap retry min_reports min_separation buffer concurrency "
               "max_staleness weighting staleness_exponent hinge_slope hinge_from update mixing"),
       {.trait = &traits::sends, .otherwise = "uses all clients' data"}},
      {keys_in(participation,
               "per_round fraction over_selection selection_timeout deadline min_reports min_separation"),
       {.key = "participation.mode", .words = {"sync"}}},
      {keys_in(participation,
               "buffer concurrency max_staleness weighting staleness_exponent hinge_slope hinge_from update mixing"),
       {.key = "participation.mode", .words = {"async"}}},
      {keys_in(participation, "rate cap"), {.key = "participation.policy", .words = policies(true)}},
      {keys_in(participation, "per_round fraction over_selection selection_timeout"),
       {.key = "participation.policy", .words = policies(false)}},
      {keys_in(participation, "mixing"), {.key = "participation.update", .words = {"model"}}},
      {keys_in(participation, "staleness_exponent"), {.key = "participation.weighting", .words = {"polynomial"}}},
      {keys_in(participation, "hinge_slope hinge_from"), {.key = "participation.weighting", .words = {"hinge"}}},
      {keys_in(availability, "rate"),
       {.key = "devices.availability.kind", .words = {"bernoulli", "markov", "diurnal"}}},
      {keys_in(availability, "mean_online step"), {.key = "devices.availability.kind", .words = {"markov"}}},
      {keys_in(availability, "swing peak_hour dwell zones"),
       {.key = "devices.availability.kind", .words = {"diurnal"}}},
      {keys_in(availability, "trace"), {.key = "devices.availability.kind", .words = {"trace"}}},
      {keys_in("dropout", "mean_pause"), {.key = "dropout.policy", .words = {"pause"}}},
      {keys_in("algorithm.aggregation", "noise_at"), {.key = "algorithm.aggregation.noise"}},
      {keys_in("privacy", "noise_key noise_at mechanism delta"), {.key = "privacy.noise"}},
      {keys_in("privacy", "clip_quantile"), {.key = "privacy.clip"}},
      {keys_in("privacy", "clip_lr clip_noise"), {.key = "privacy.clip_quantile"}},
      {keys_in("privacy", "clip_noise"), {.key = "privacy.noise"}},
      {keys_in("privacy", "tree_rounds"), {.key = "privacy.mechanism", .words = {"tree"}}},
      {keys_in("algorithm.client",
               "lr schedule momentum proximal optimizer beta1 beta2 eps weight_decay clip epochs max_steps shuffle"),
       {.trait = &traits::steps, .otherwise = "solves equations, without steps"}},
      {keys_in("algorithm.server", "optimizer lr momentum beta1 beta2 eps initial_accumulator bias_correction"),
       {.trait = &traits::steps, .otherwise = "solves equations, without steps"}},
      {keys_in("algorithm.client", "negatives exclude"),
       {.trait = &traits::negatives, .otherwise = "draws no negatives"}},
      {keys_in("algorithm.client", "beta1 beta2 eps"),
       {.key = "algorithm.client.optimizer", .words = {"adam", "adamw"}}},
      {keys_in("algorithm.server", "beta1 beta2 bias_correction"),
       {.key = "algorithm.server.optimizer", .words = {"adam", "yogi"}}},
      {keys_in("algorithm.server", "eps initial_accumulator"),
       {.key = "algorithm.server.optimizer", .words = {"adagrad", "adam", "yogi"}}},
      {keys_in(reconstruction, "split joint"),
       {.trait = &traits::splits_support, .otherwise = "does not split a task's examples"}},
      {keys_in(reconstruction, "lr epochs max_steps"), {.key = "algorithm.reconstruction.solver", .words = {"sgd"}}},
      {keys_in(reconstruction, "ridge ridge_per_example"),
       {.key = "algorithm.reconstruction.solver", .words = {"least-squares"}}},
      {keys_in("model", "user_init"), {.key = "model.user_embedding"}},
  };
}

/// "weighting" of "participation.weighting".
std::string short_name(const std::string& key) { return key.substr(key.find('.') + 1); }

/// The reason why a key with this dependency has no effect; empty: it has one, or this is unknown.
std::string broken(const draft& document, const condition& requirement) {
  if (requirement.trait != nullptr) {
    if (document.algorithm == nullptr || document.algorithm->traits.*requirement.trait) return {};
    return algorithm_word(document) + " " + requirement.otherwise;
  }
  if (!document.good({requirement.key})) return {};
  if (requirement.words.empty()) {
    if (document.values.number(requirement.key) > 0.0) return {};
    return short_name(requirement.key) + " is 0";
  }
  if (std::ranges::find(requirement.words, document.values.text(requirement.key)) != requirement.words.end()) return {};
  return short_name(requirement.key) + " is " + quoted(document, requirement.key);
}

}  // namespace

const std::vector<dependency>& dependencies() {
  static const auto table = [] {
    auto made = make();
    add_attacks(made);
    return made;
  }();
  return table;
}

void note_idle_keys(draft& document) {
  std::set<std::string> noted;
  for (const auto& [keys, when] : dependencies()) {
    const auto why = broken(document, when);
    if (why.empty()) continue;
    for (const auto& key : keys) {
      // A table in which no key has an effect has one note (check_unused.cpp).
      if (key.starts_with("algorithm.reconstruction.") && !reconstructs(document)) continue;
      if (document.is_changed(key) && noted.insert(key).second)
        document.notes.push_back(key + " has no effect: " + why);
    }
  }
}

}  // namespace furlong::scenarios
