#include "federated/participation/policy.hpp"

#include <stdexcept>

#include "base/registry.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

registry<policy_entry>& table() {
  static registry<policy_entry> entries = {{uniform_entry(), by_weight_entry(), round_robin_entry(),
                                            least_recent_entry(), power_of_choice_entry(), poisson_entry()}};
  return entries;
}

}  // namespace

const std::vector<policy_entry>& registered_policies() { return table().entries; }

void register_policy(policy_entry entry) {
  if (!entry.build) throw std::invalid_argument("selection policy \"" + entry.kind + "\" cannot be built");
  check_options(entry.options, "participation", {});
  table().add(std::move(entry));
}

const policy_entry* find_policy(std::string_view kind) { return table().find(kind); }

chosen_policy::chosen_policy() : chosen_policy(table().entries.front().kind) {}

chosen_policy::chosen_policy(std::string_view of, const option_values& given) : kind(of) {
  const auto* entry = find_policy(of);
  if (entry == nullptr) throw std::invalid_argument("no selection policy \"" + kind + "\" is registered");
  traits = entry->traits;
  options = defaults(entry->options);
  for (const auto& [name, value] : given.all()) options.set(name, value);
}

std::unique_ptr<selection_policy> make_policy(const experiment& e, const participation_ledger& ledger) {
  return find_policy(e.settings.participation->policy.kind)->build(e, ledger);
}

}  // namespace furlong::federated
