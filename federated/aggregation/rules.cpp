#include "federated/aggregation/rules.hpp"

#include <array>

namespace furlong::federated {

namespace {

struct rule_entry {
  rule_kind kind;
  std::unique_ptr<accumulator> (*make)(const aggregation_settings&, const models::layout_ptr&,
                                       const std::vector<double>&);
  std::vector<double> (*first_reference)(const aggregation_settings&, const models::layout&);
};

std::vector<double> no_reference(const aggregation_settings&, const models::layout&) { return {}; }

constexpr std::array<rule_entry, 3> rules = {{
    {rule_kind::mean, make_mean, no_reference},
    {rule_kind::uniform_mean, make_mean, no_reference},
    {rule_kind::fedatt, make_fedatt, first_fedatt_reference},
}};

const rule_entry& entry_of(rule_kind kind) {
  for (const auto& entry : rules)
    if (entry.kind == kind) return entry;
  return rules.front();
}

}  // namespace

std::unique_ptr<accumulator> make_accumulator(const aggregation_settings& settings, const models::layout_ptr& shared,
                                              const std::vector<double>& reference) {
  return entry_of(settings.rule).make(settings, shared, reference);
}

std::vector<double> first_reference(const aggregation_settings& settings, const models::layout_ptr& shared) {
  return entry_of(settings.rule).first_reference(settings, *shared);
}

}  // namespace furlong::federated
