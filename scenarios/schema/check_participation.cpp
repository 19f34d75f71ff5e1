// Checks of [participation] and [private].
#include <array>
#include <cmath>

#include "federated/aggregation/rule.hpp"
#include "federated/participation/policy.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

const federated::policy_traits& policy_of(const draft& document) {
  return federated::find_policy(document.values.text("participation.policy"))->traits;
}

bool draws_candidates(const draft& document) { return policy_of(document).draws_candidates; }

/// A policy that draws the cohort has a rate instead of a number of clients.
bool draws_cohort(const draft& document) {
  return document.good({"participation.policy"}) && policy_of(document).draws_cohort;
}

void check_cohort(draft& document) {
  const std::string count_key = "participation.per_round";
  const std::string share_key = "participation.fraction";
  if (draws_cohort(document)) {
    if (!document.is_set("participation.rate"))
      document.report("participation.rate",
                      "is missing: policy " + quoted(document, "participation.policy") + " draws by it",
                      "add rate = 0.01 to [participation]");
    document.values.set("participation.over_selection", 1.0);  // noted as without effect
    document.values.set("participation.selection_timeout", 0.0);
    return;
  }
  if (document.is_set(count_key) && document.is_set(share_key))
    document.report(share_key, "cannot be combined with " + count_key, "remove one of them");
  else if (!document.is_set(count_key) && !document.is_set(share_key))
    document.report(count_key, "is missing, and " + share_key + " too", "add per_round = 100 to [participation]");
}

/// Bounds relative to per_round; if it is a fraction, fit() checks them.
void check_sizes(draft& document) {
  const std::string wanted = "participation.per_round";
  if (!document.is_set(wanted) || !document.good({wanted}) || draws_cohort(document)) return;
  const auto per_round = document.values.integer(wanted);
  const std::string reports = "participation.min_reports";
  if (document.good({reports}) && document.values.integer(reports) > per_round)
    document.report(reports, "is more than the " + std::to_string(per_round) + " reports that close a round",
                    "lower it, or raise participation.per_round");
  const std::string candidates = "participation.candidates";
  if (!document.good({candidates, "participation.policy", "participation.over_selection"}) ||
      !draws_candidates(document) || document.values.integer(candidates) == 0)
    return;
  const double asked =
      std::ceil(static_cast<double>(per_round) * document.values.number("participation.over_selection"));
  if (static_cast<double>(document.values.integer(candidates)) < asked)
    document.report(
        candidates,
        "is fewer than the " + value_text(static_cast<std::int64_t>(asked)) + " clients that are asked of them",
        "raise it, or write 0 for twice as many");
}

/// With one client's model at a time, a weight has no effect.
void settle_whole_model(draft& document) {
  const std::string rule = "algorithm.aggregation.rule";
  const auto& allowed = document.algorithm->traits.rules;
  if (!document.good({rule}) || document.rule == nullptr || !document.rule->traits.weighs_examples || !allowed.empty())
    return;
  if (document.is_set(rule))
    document.notes.push_back(rule + " has no effect: update = \"model\" takes one client's model at a time");
  document.rule = federated::find_rule("uniform-mean");
  document.values.set(rule, document.rule->kind);
}

void check_async(draft& document) {
  const std::string buffer = "participation.buffer";
  if (!document.good({buffer, "participation.update"})) return;
  if (document.values.text("participation.update") == "model") {
    if (document.is_set(buffer) && document.values.integer(buffer) != 1)
      document.report(buffer, "gathers updates, and update = \"model\" takes one client's model at a time",
                      "remove it, or write update = \"change\"");
    document.values.set(buffer, std::int64_t{1});
    settle_whole_model(document);
  }
}

void check_mode(draft& document) {
  const std::string mode = "participation.mode";
  if (!document.good({mode})) return;
  const bool async = document.values.text(mode) == "async";
  if (async && draws_cohort(document))
    return document.report(
        "participation.policy",
        "is " + quoted(document, "participation.policy") +
            ", which selects in rounds, and an asynchronous run has none: it replaces each client that ends",
        "choose another policy, or mode = \"sync\"");
  if (async) return check_async(document);
  check_cohort(document);
  check_sizes(document);
}

void check_reconnect(draft& document) {
  const std::string key = "participation.reconnect";
  if (!document.good({key})) return;
  const auto& window = document.values.numbers(key);
  if (window.size() != 2)
    return document.report(key, "has " + std::to_string(window.size()) + " items, needs 2",
                           "write the least and the most seconds, such as [60, 600]");
  if (window[0] > window[1])
    document.report(
        key,
        "begins with " + number_text(window[0]) + ", more than the " + number_text(window[1]) + " that it ends with",
        "swap them");
}

}  // namespace

void check_participation(draft& document) {
  check_reconnect(document);
  if (document.algorithm == nullptr || !document.algorithm->traits.sends) return;
  check_mode(document);
  if (document.policy != nullptr && document.policy->check) document.policy->check(document);
  if (document.good({"participation.policy"}) && !draws_candidates(document))
    note_unused(document, "participation", {"candidates"}, "policy is " + quoted(document, "participation.policy"));
}

}  // namespace furlong::scenarios
