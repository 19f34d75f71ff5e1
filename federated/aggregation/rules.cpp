#include "federated/aggregation/rules.hpp"

#include <algorithm>
#include <stdexcept>

namespace furlong::federated {

namespace {

std::vector<rule_entry>& table() {
  // An explicit table, since a linker drops the static initialisers of a static library.
  static std::vector<rule_entry> entries = {mean_entry(), uniform_mean_entry(), attention_entry()};
  return entries;
}

}  // namespace

const std::vector<rule_entry>& registered_rules() { return table(); }

void register_rule(rule_entry entry) {
  auto& entries = table();
  const auto same = std::ranges::find(entries, entry.kind, &rule_entry::kind);
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

const rule_entry* find_rule(std::string_view kind) {
  const auto& entries = table();
  const auto at = std::ranges::find(entries, kind, &rule_entry::kind);
  return at == entries.end() ? nullptr : &*at;
}

chosen_rule::chosen_rule() : chosen_rule(table().front().kind) {}

chosen_rule::chosen_rule(std::string_view of, const option_values& given) : kind(of) {
  const auto* entry = find_rule(of);
  if (entry == nullptr) throw std::invalid_argument("no aggregation rule \"" + kind + "\" is registered");
  traits = entry->traits;
  options = defaults(entry->options);
  for (const auto& [name, value] : given.all()) options.set(name, value);
}

std::unique_ptr<aggregation_rule> make_rule(const aggregation_settings& settings, const models::layout_ptr& shared,
                                            const std::vector<double>& reference) {
  return find_rule(settings.rule.kind)->build(settings, shared, reference);
}

std::vector<double> first_reference(const aggregation_settings& settings, const models::layout_ptr& shared) {
  const auto& first = find_rule(settings.rule.kind)->first_reference;
  return first ? first(settings, *shared) : std::vector<double>{};
}

}  // namespace furlong::federated
