// Checks of privacy.secure_aggregation: what the server must see of single updates, or masks cannot carry.
#include "federated/aggregation/rule.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

const std::string secure_key = "privacy.secure_aggregation";

void check_secure_rule(draft& document) {
  if (document.rule == nullptr || document.rule->traits.counts_alike) return;
  document.report("algorithm.aggregation.rule",
                  "is " + toml_string(document.rule->kind) + ", and " + secure_key + " adds updates that count equally",
                  "set it to \"uniform-mean\"");
}

/// The limits of updates that follow from earlier updates, which nobody sees.
void settle_norm_bound(draft& document) {
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (!document.good({bound}) || document.is(bound, "fixed")) return;
  if (document.is_changed(bound) || document.is_set(bound))
    return document.report(bound, "follows the norms of updates, which " + secure_key + " hides from the server",
                           "set it to \"fixed\"");
  document.values.set(bound, std::string("fixed"));
}

void check_secure_traffic(draft& document) {
  const std::string upload = "network.upload";
  if (document.is(upload, "sparse"))
    document.report(upload, "sends the rows that a client changed, and masks cover all rows", "set it to \"dense\"");
  if (document.is("network.trust", "operator"))
    document.report("network.trust",
                    "is \"operator\", and clients accept each other's keys by the certificates of their nodes",
                    "remove it");
  const std::string compression = "network.compression";
  if (document.good({compression}) && document.values.text(compression) != "none")
    document.report(compression, "has no meaning for masked updates, which are random numbers", "set it to \"none\"");
}

constexpr auto fewest = federated::privacy::fewest_clients;

/// FedBuff: the clients whose updates fill the buffer exchange keys.
void check_secure_buffer(draft& document) {
  const std::string update = "participation.update";
  if (document.is(update, "model"))
    return document.report(update, "is \"model\": each model would be a sum of its own, and the server would see it",
                           "set it to \"change\"");
  const std::string size = "participation.buffer";
  if (document.good({size}) && document.values.integer(size) < fewest)
    document.report(size,
                    "is " + std::to_string(document.values.integer(size)) +
                        ", and from a sum of fewer than 3 updates their clients learn of each other's",
                    "raise it to 3 or more");
  const std::string stale = "participation.max_staleness";
  if (document.exceeds(stale))
    document.report(stale, "rejects single updates, whose masks are in the sum", "set it to 0");
}

void check_secure_rounds(draft& document) {
  const std::string policy = "participation.policy";
  if (!document.good({policy})) return;
  const auto& traits = federated::find_policy(document.values.text(policy))->traits;
  if (traits.sees_losses)
    document.report(policy, "selects by the losses of clients, which " + secure_key + " hides",
                    "choose another policy");
  if (document.is("participation.mode", "async")) return check_secure_buffer(document);
  const std::string more = "participation.over_selection";
  constexpr double most_selected = 1.4;
  if (document.exceeds(more, most_selected))
    document.report(more,
                    "is " + number_text(document.values.number(more)) +
                        ", and a sum is opened only if two thirds of the selected clients report",
                    "lower it to " + number_text(most_selected));
  const std::string size = "participation.per_round";
  if (!traits.draws_cohort && document.is_set(size) && document.good({size}) && document.values.integer(size) < fewest)
    document.report(size,
                    "is " + std::to_string(document.values.integer(size)) +
                        ", and from a sum of fewer than 3 updates their clients learn of each other's",
                    "raise it to 3 or more");
}

}  // namespace

void check_secure_aggregation(draft& document) {
  if (!document.good({secure_key})) return;
  const std::string adversary = "privacy.adversary";
  if (!document.values.flag(secure_key)) {
    if (document.is_changed(adversary))
      document.notes.push_back(adversary + " has no effect: " + secure_key + " is false");
    return;
  }
  if (document.algorithm != nullptr && !document.algorithm->traits.sends)
    return report_unsent(document, secure_key, "there are no clients' updates");
  check_secure_rule(document);
  settle_norm_bound(document);
  check_secure_traffic(document);
  check_secure_rounds(document);
}

}  // namespace furlong::scenarios
