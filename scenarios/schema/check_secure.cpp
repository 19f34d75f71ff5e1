// Checks of privacy.secure_aggregation: what the server must see of single updates, or masks cannot carry.
#include "federated/aggregation/rule.hpp"
#include "federated/algorithm_traits.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

const std::string secure_key = "privacy.secure_aggregation";

void check_secure_rule(draft& of) {
  if (of.rule == nullptr || of.rule->traits.counts_alike) return;
  of.report("algorithm.aggregation.rule",
            "is " + toml_string(of.rule->kind) + ", and " + secure_key + " adds updates that count equally",
            "set it to \"uniform-mean\"");
}

/// The limits of updates that follow from earlier updates, which nobody sees.
void settle_norm_bound(draft& of) {
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (!of.good({bound}) || of.is(bound, "fixed")) return;
  if (of.is_changed(bound) || of.is_set(bound))
    return of.report(bound, "follows the norms of updates, which " + secure_key + " hides from the server",
                     "set it to \"fixed\"");
  of.values.set(bound, std::string("fixed"));
}

void check_secure_traffic(draft& of) {
  const std::string upload = "network.upload";
  if (of.is(upload, "sparse"))
    of.report(upload, "sends the rows that a client changed, and masks cover all rows", "set it to \"dense\"");
  if (of.is("network.trust", "operator"))
    of.report("network.trust",
              "is \"operator\", and clients accept each other's keys by the certificates of their nodes", "remove it");
  const std::string compression = "network.compression";
  if (of.good({compression}) && of.values.text(compression) != "none")
    of.report(compression, "has no meaning for masked updates, which are random numbers", "set it to \"none\"");
}

constexpr auto fewest = federated::privacy::fewest_clients;

/// FedBuff: the clients whose updates fill the buffer exchange keys.
void check_secure_buffer(draft& of) {
  const std::string update = "participation.update";
  if (of.is(update, "model"))
    return of.report(update, "is \"model\": each model would be a sum of its own, and the server would see it",
                     "set it to \"change\"");
  const std::string size = "participation.buffer";
  if (of.good({size}) && of.values.integer(size) < fewest)
    of.report(size,
              "is " + std::to_string(of.values.integer(size)) +
                  ", and from a sum of fewer than 3 updates their clients learn of each other's",
              "raise it to 3 or more");
  const std::string stale = "participation.max_staleness";
  if (of.exceeds(stale)) of.report(stale, "rejects single updates, whose masks are in the sum", "set it to 0");
}

void check_secure_rounds(draft& of) {
  const std::string policy = "participation.policy";
  if (!of.good({policy})) return;
  const auto& traits = federated::find_policy(of.values.text(policy))->traits;
  if (traits.sees_losses)
    of.report(policy, "selects by the losses of clients, which " + secure_key + " hides", "choose another policy");
  if (of.is("participation.mode", "async")) return check_secure_buffer(of);
  const std::string more = "participation.over_selection";
  constexpr double most_selected = 1.4;
  if (of.exceeds(more, most_selected))
    of.report(more,
              "is " + number_text(of.values.number(more)) +
                  ", and a sum is opened only if two thirds of the selected clients report",
              "lower it to " + number_text(most_selected));
  const std::string size = "participation.per_round";
  if (!traits.draws_cohort && of.is_set(size) && of.good({size}) && of.values.integer(size) < fewest)
    of.report(size,
              "is " + std::to_string(of.values.integer(size)) +
                  ", and from a sum of fewer than 3 updates their clients learn of each other's",
              "raise it to 3 or more");
}

}  // namespace

void check_secure_aggregation(draft& of) {
  if (!of.good({secure_key})) return;
  const std::string adversary = "privacy.adversary";
  if (!of.values.flag(secure_key)) {
    if (of.is_changed(adversary)) of.notes.push_back(adversary + " has no effect: " + secure_key + " is false");
    return;
  }
  if (of.algorithm != nullptr && !of.algorithm->traits.sends)
    return report_unsent(of, secure_key, "there are no clients' updates");
  check_secure_rule(of);
  settle_norm_bound(of);
  check_secure_traffic(of);
  check_secure_rounds(of);
}

}  // namespace furlong::scenarios
