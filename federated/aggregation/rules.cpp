#include "federated/aggregation/rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "base/registry.hpp"
#include "federated/aggregation/cohort_rule.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

namespace {

std::vector<rule_entry> built_in_rules() {
  std::vector<rule_entry> rules = {mean_entry(),    uniform_mean_entry(), attention_entry(), centred_clipping_entry(),
                                   fltrust_entry(), arc_entry(),          buckets_entry()};
  std::ranges::copy(robust_entries(), std::back_inserter(rules));  // those that hold updates
  return rules;
}

registry<rule_entry>& table() {
  static registry<rule_entry> entries = {built_in_rules()};
  return entries;
}

}  // namespace

const std::vector<rule_entry>& registered_rules() { return table().entries; }

void register_rule(rule_entry entry) {
  if (!entry.build) throw std::invalid_argument("aggregation rule \"" + entry.kind + "\" cannot be built");
  constexpr std::array<std::string_view, 6> taken = {"rule",       "max_norm", "norm_bound",
                                                     "max_weight", "noise",    "noise_at"};
  check_options(entry.options, "algorithm.aggregation", taken);
  const auto& traits = entry.traits;
  const std::string rule = "aggregation rule \"" + entry.kind + "\" ";
  if (traits.most_updates == 0) throw std::invalid_argument(rule + "holds no update: set most_updates in its traits");
  if (!(traits.sensitivity >= 0.0) || !std::isfinite(traits.sensitivity))
    throw std::invalid_argument(rule + "has a sensitivity that is no number from 0 on: correct its traits");
  if (traits.sensitivity > 0.0 && (!traits.counts_alike || traits.weighs_examples))
    throw std::invalid_argument(rule +
                                "states a sensitivity, which no update has whose weight differs: set counts_alike "
                                "and not weighs_examples in its traits, or leave it out");
  if (traits.counts_alike && traits.weighs_examples)
    throw std::invalid_argument(rule + "cannot count updates alike and weigh them by examples: correct its traits");
  if (traits.holds_updates && (traits.sensitivity > 0.0 || traits.measures_distance))
    throw std::invalid_argument(rule +
                                "holds single updates, to whose aggregate no noise is added and which have no "
                                "attention weights: correct its traits");
  table().add(std::move(entry));
}

const rule_entry* find_rule(std::string_view kind) { return table().find(kind); }

chosen_rule::chosen_rule() : chosen_rule(table().entries.front().kind) {}

chosen_rule::chosen_rule(std::string_view of, const option_values& given) : kind(of) {
  const auto* entry = find_rule(of);
  if (entry == nullptr) throw std::invalid_argument("no aggregation rule \"" + kind + "\" is registered");
  traits = entry->traits;
  options = defaults(entry->options);
  for (const auto& [name, value] : given.all()) options.set(name, value);
}

std::unique_ptr<aggregation_rule> make_rule(const aggregation_settings& settings, const models::layout_ptr& shared,
                                            const std::vector<double>& reference, std::uint64_t seed) {
  return find_rule(settings.rule.kind)->build(settings, shared, reference, rule_draws(seed));
}

std::vector<double> first_reference(const aggregation_settings& settings, const models::layout_ptr& shared) {
  const auto& first = find_rule(settings.rule.kind)->first_reference;
  return first ? first(settings, *shared) : std::vector<double>{};
}

}  // namespace furlong::federated
