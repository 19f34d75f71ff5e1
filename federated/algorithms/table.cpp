#include <algorithm>
#include <stdexcept>

#include "federated/algorithm.hpp"
#include "federated/algorithms/entries.hpp"

namespace furlong::federated {

namespace {

std::vector<algorithm_entry>& table() {
  // An explicit table, since a linker drops the static initialisers of a static library.
  static std::vector<algorithm_entry> entries = {
      fedavg_entry(), fedsgd_entry(), fedatt_entry(), furl_entry(), fedrecon_entry(), centralized_entry(),
  };
  return entries;
}

}  // namespace

const std::vector<algorithm_entry>& registered_algorithms() { return table(); }

void register_algorithm(algorithm_entry entry) {
  auto& entries = table();
  for (const auto* table_of_keys : {"client", "reconstruction", "server", "aggregation"})
    if (entry.kind == table_of_keys) throw std::invalid_argument("\"" + entry.kind + "\" is a table of [algorithm]");
  const auto* base = entry.alias_of.empty() ? nullptr : find_algorithm(entry.alias_of);
  if (entry.alias_of.empty() ? !entry.build : base == nullptr || !base->build)
    throw std::invalid_argument("algorithm \"" + entry.kind + "\" cannot be built");
  const auto same = std::ranges::find(entries, entry.kind, &algorithm_entry::kind);
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

const algorithm_entry* find_algorithm(std::string_view kind) {
  const auto& entries = table();
  const auto at = std::ranges::find(entries, kind, &algorithm_entry::kind);
  return at == entries.end() ? nullptr : &*at;
}

chosen_algorithm::chosen_algorithm() : chosen_algorithm(table().front().kind) {}

chosen_algorithm::chosen_algorithm(std::string_view of, const option_values& options) : kind(of) {
  const auto* entry = find_algorithm(of);
  if (entry == nullptr || !entry->build) throw std::invalid_argument("no algorithm \"" + kind + "\" is registered");
  auto values = defaults(entry->options);
  for (const auto& [name, value] : options.all()) values.set(name, value);
  auto built = entry->build(values);
  if (!built) throw std::invalid_argument(built.error().text());
  traits = entry->traits;
  does = std::move(*built);
}

}  // namespace furlong::federated
