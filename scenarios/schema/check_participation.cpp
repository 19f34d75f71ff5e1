// Checks of [participation] and [private].
#include <array>
#include <cmath>

#include "federated/aggregation/rule.hpp"
#include "federated/participation/policy.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

const federated::policy_traits& policy_of(const draft& of) {
  return federated::find_policy(of.values.text("participation.policy"))->traits;
}

bool draws_candidates(const draft& of) { return policy_of(of).draws_candidates; }

/// A policy that draws the cohort has a rate instead of a number of clients.
bool draws_cohort(const draft& of) { return of.good({"participation.policy"}) && policy_of(of).draws_cohort; }

void check_cohort(draft& of) {
  const std::string one = "participation.per_round";
  const std::string other = "participation.fraction";
  if (draws_cohort(of)) {
    if (!of.is_set("participation.rate"))
      of.report("participation.rate", "is missing: policy " + quoted(of, "participation.policy") + " draws by it",
                "add rate = 0.01 to [participation]");
    of.values.set("participation.over_selection", 1.0);  // noted as without effect
    of.values.set("participation.selection_timeout", 0.0);
    return;
  }
  if (of.is_set(one) && of.is_set(other))
    of.report(other, "cannot be combined with " + one, "remove one of them");
  else if (!of.is_set(one) && !of.is_set(other))
    of.report(one, "is missing, and " + other + " too", "add per_round = 100 to [participation]");
}

/// Bounds relative to per_round; if it is a fraction, fit() checks them.
void check_sizes(draft& of) {
  const std::string wanted = "participation.per_round";
  if (!of.is_set(wanted) || !of.good({wanted}) || draws_cohort(of)) return;
  const auto per_round = of.values.integer(wanted);
  const std::string reports = "participation.min_reports";
  if (of.good({reports}) && of.values.integer(reports) > per_round)
    of.report(reports, "is more than the " + std::to_string(per_round) + " reports that close a round",
              "lower it, or raise participation.per_round");
  const std::string candidates = "participation.candidates";
  if (!of.good({candidates, "participation.policy", "participation.over_selection"}) || !draws_candidates(of) ||
      of.values.integer(candidates) == 0)
    return;
  const double asked = std::ceil(static_cast<double>(per_round) * of.values.number("participation.over_selection"));
  if (static_cast<double>(of.values.integer(candidates)) < asked)
    of.report(candidates,
              "is fewer than the " + value_text(static_cast<std::int64_t>(asked)) + " clients that are asked of them",
              "raise it, or write 0 for twice as many");
}

/// With one client's model at a time, a weight has no effect.
void settle_whole_model(draft& of) {
  const std::string rule = "algorithm.aggregation.rule";
  const auto& allowed = of.algorithm->traits.rules;
  if (!of.good({rule}) || of.rule == nullptr || !of.rule->traits.weighs_examples || !allowed.empty()) return;
  if (of.is_set(rule))
    of.notes.push_back(rule + " has no effect: update = \"model\" takes one client's model at a time");
  of.rule = federated::find_rule("uniform-mean");
  of.values.set(rule, of.rule->kind);
}

void check_async(draft& of) {
  const std::string buffer = "participation.buffer";
  if (!of.good({buffer, "participation.update"})) return;
  if (of.values.text("participation.update") == "model") {
    if (of.is_set(buffer) && of.values.integer(buffer) != 1)
      of.report(buffer, "gathers updates, and update = \"model\" takes one client's model at a time",
                "remove it, or write update = \"change\"");
    of.values.set(buffer, std::int64_t{1});
    settle_whole_model(of);
  }
}

void check_mode(draft& of) {
  const std::string mode = "participation.mode";
  if (!of.good({mode})) return;
  const bool async = of.values.text(mode) == "async";
  if (async && draws_cohort(of))
    return of.report(
        "participation.policy",
        "is " + quoted(of, "participation.policy") +
            ", which selects in rounds, and an asynchronous run has none: it replaces each client that ends",
        "choose another policy, or mode = \"sync\"");
  if (async) return check_async(of);
  check_cohort(of);
  check_sizes(of);
}

void check_reconnect(draft& of) {
  const std::string key = "participation.reconnect";
  if (!of.good({key})) return;
  const auto& window = of.values.numbers(key);
  if (window.size() != 2)
    return of.report(key, "has " + std::to_string(window.size()) + " items, needs 2",
                     "write the least and the most seconds, such as [60, 600]");
  if (window[0] > window[1])
    of.report(
        key,
        "begins with " + number_text(window[0]) + ", more than the " + number_text(window[1]) + " that it ends with",
        "swap them");
}

}  // namespace

void check_participation(draft& of) {
  check_reconnect(of);
  if (of.algorithm == nullptr || !of.algorithm->traits.sends) return;
  check_mode(of);
  if (of.good({"participation.policy"}) && !draws_candidates(of))
    note_unused(of, "participation", {"candidates"}, "policy is " + quoted(of, "participation.policy"));
}

}  // namespace furlong::scenarios
