#include "federated/participation/policy.hpp"

#include <algorithm>
#include <stdexcept>

namespace furlong::federated {

namespace {

std::vector<policy_entry>& table() {
  // An explicit table, since a linker drops the static initialisers of a static library.
  static std::vector<policy_entry> entries = {uniform_entry(), by_weight_entry(), round_robin_entry(),
                                              least_recent_entry(), power_of_choice_entry()};
  return entries;
}

}  // namespace

const std::vector<policy_entry>& registered_policies() { return table(); }

void register_policy(policy_entry entry) {
  auto& entries = table();
  const auto same = std::ranges::find(entries, entry.kind, &policy_entry::kind);
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

const policy_entry* find_policy(std::string_view kind) {
  const auto& entries = table();
  const auto at = std::ranges::find(entries, kind, &policy_entry::kind);
  return at == entries.end() ? nullptr : &*at;
}

chosen_policy::chosen_policy() : chosen_policy(table().front().kind) {}

chosen_policy::chosen_policy(std::string_view of) : kind(of) {
  const auto* entry = find_policy(of);
  if (entry == nullptr) throw std::invalid_argument("no selection policy \"" + kind + "\" is registered");
  traits = entry->traits;
}

std::unique_ptr<selection_policy> make_policy(const experiment& e, const participation_ledger& ledger) {
  return find_policy(e.settings.participation.policy.kind)->build(e, ledger);
}

}  // namespace furlong::federated
