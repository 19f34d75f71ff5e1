// Checks of [privacy].
#include <algorithm>

#include "federated/aggregation/rule.hpp"
#include "federated/participation/policy.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// What selection reveals that no noise hides.
void check_selection(draft& document) {
  const std::string policy = "participation.policy";
  if (!document.good({policy})) return;
  const auto& traits = federated::find_policy(document.values.text(policy))->traits;
  if (traits.sees_losses)
    document.report(
        policy,
        "is " + quoted(document, policy) + ", which selects by losses: the selection reveals something of examples",
        "choose another policy, or remove privacy.noise");
  const std::string reports = "participation.min_reports";
  if (document.is("privacy.noise_at", "client")) return;
  if (traits.draws_cohort && document.exceeds(reports, 1))
    document.report(reports,
                    "abandons rounds by how many clients reported, which is private under " + quoted(document, policy),
                    "remove it, or privacy.noise");
}

bool is_async(const draft& document) { return document.is("participation.mode", "async"); }

void check_adaptive_clip(draft& document) {
  const std::string key = "privacy.clip_quantile";
  if (!document.exceeds(key)) return;
  if (document.values.number("privacy.clip") <= 0.0)
    document.report(key, "has no bound to begin with", "set privacy.clip above 0");
  if (is_async(document))
    document.report(key, "moves the bound from round to round, and asynchronous updates start from several",
                    "remove it, or write participation.mode = \"sync\"");
  if (document.is("algorithm.aggregation.norm_bound", "clip"))
    document.report(
        key, "clips updates to a quantile of their norms, and so does algorithm.aggregation.norm_bound = \"clip\"",
        "remove one of them");
  const std::string noise = "algorithm.aggregation.noise";
  if (document.good({noise, noise + "_at"}) && document.values.number(noise) > 0.0 &&
      document.values.text(noise + "_at") == "client")
    document.report(
        key,
        "counts updates within the bound, and the noise of clients (algorithm.aggregation.noise) changes the count",
        "remove one of them, or use privacy.noise");
}

/// The noise of a tree is of rounds that follow each other, each released.
void check_tree(draft& document) {
  const std::string key = "privacy.mechanism";
  if (!document.is(key, "tree")) return;
  if (is_async(document))
    document.report(key, "is \"tree\", which is over rounds, and an asynchronous run has none",
                    "write participation.mode = \"sync\", or mechanism = \"gaussian\"");
  if (document.exceeds("privacy.clip_quantile"))
    document.report(key, "is \"tree\", whose noise of earlier rounds must fit the bound of later ones",
                    "remove privacy.clip_quantile");
  const std::string secure = "privacy.secure_aggregation";
  if (document.is_on(secure))
    document.report(secure, "abandons rounds with too many dropouts, and the noise of a tree continues from each round",
                    "set it to false, or write privacy.mechanism = \"gaussian\"");
  const std::string reports = "participation.min_reports";
  if (document.exceeds(reports, 1))
    document.report(reports, "abandons rounds, and the noise of a tree continues from each round to the next",
                    "remove it, or write privacy.mechanism = \"gaussian\"");
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (document.good({bound}) && !document.is(bound, "fixed"))
    document.report(bound,
                    "is " + quoted(document, bound) +
                        ", which can abandon a round, and the noise of a tree continues from each one",
                    "write \"fixed\"");
}

/// Noise in shares of clients.
void check_client_noise(draft& document) {
  if (!document.is("privacy.noise_at", "client")) return;
  if (document.good({"privacy.secure_aggregation"}) && !document.values.flag("privacy.secure_aggregation"))
    document.report("privacy.noise_at",
                    "is \"client\": each client adds a share of the noise, which alone hides too little",
                    "set privacy.secure_aggregation = true, so that the server sees the sum of the shares only");
  const std::string own = "privacy.clip_noise";
  if (document.good({own, "privacy.clip_quantile"}) && document.values.number("privacy.clip_quantile") > 0.0 &&
      document.values.number(own) <= 0.0)
    document.report(own,
                    "is a 20th of the cohort without a value, and clients that add the noise do not know the cohort",
                    "set it");
  const std::string reports = "participation.min_reports";
  const std::string policy = "participation.policy";
  if (!document.good({policy, reports})) return;
  if (!document.is_set(reports))
    document.values.set(reports, std::int64_t{0});  // fit() makes it two thirds of the selected clients
  if (document.values.integer(reports) == 0 &&
      federated::find_policy(document.values.text(policy))->traits.draws_cohort)
    document.report(reports,
                    "has no value: it is the number of shares of the noise, which " + quoted(document, policy) +
                        " does not determine",
                    "set it to a number of reports that a round always has, such as two thirds of the mean cohort");
}

}  // namespace

void check_privacy(draft& document) {
  if (!document.good({"privacy.clip", "privacy.noise"})) return;
  const bool clip = document.values.number("privacy.clip") > 0.0;
  const bool noise = document.values.number("privacy.noise") > 0.0;
  const bool limited = document.exceeds("privacy.target_epsilon");
  if (!noise && limited)
    document.report("privacy.target_epsilon", "needs noise: without it nothing is guaranteed",
                    "set privacy.noise above 0");
  check_adaptive_clip(document);
  if (!noise) return;
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (!document.is_set(bound))
    document.values.set(bound, std::string("fixed"));  // limits that follow updates reveal something of them
  check_selection(document);
  check_tree(document);
  check_client_noise(document);
  if (!clip) document.report("privacy.noise", "needs a bound on what one client adds", "set privacy.clip above 0");
  if (document.rule == nullptr || document.rule->traits.sensitivity > 0.0) return;
  const std::string subject = document.rule->traits.counts_alike
                                  ? "needs a rule that states how far one update moves the aggregate (its sensitivity)"
                                  : "needs updates that count equally";
  document.report("privacy.noise", subject + ", and aggregation.rule is " + toml_string(document.rule->kind),
                  "set algorithm.aggregation.rule = " + toml_string(rule_with(&federated::rule_traits::counts_alike)));
}

}  // namespace furlong::scenarios
