#include "federated/aggregation/rules.hpp"

#include <array>

namespace furlong::federated {

namespace {

struct rule_entry {
  rule_kind kind;
  std::unique_ptr<accumulator> (*make)(const aggregation_settings&, const models::layout_ptr&,
                                       const std::vector<double>&);
  bool has_reference;  ///< needs one constant per tensor in the broadcast, zero at first
};

constexpr std::array<rule_entry, 3> rules = {{
    {rule_kind::mean, make_mean, false},
    {rule_kind::uniform_mean, make_mean, false},
    {rule_kind::fedatt, make_fedatt, true},
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
  return entry_of(settings.rule).has_reference ? std::vector<double>(shared->count(), 0.0) : std::vector<double>();
}

}  // namespace furlong::federated
