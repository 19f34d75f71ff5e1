#include <algorithm>
#include <stdexcept>

#include "base/registry.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/experiment/algorithm.hpp"

namespace furlong::federated {

namespace {

registry<algorithm_entry>& table() {
  static registry<algorithm_entry> entries = {{
      fedavg_entry(),   fedsgd_entry(),  fedatt_entry(),      furl_entry(),   fedper_entry(), fedrep_entry(),
      fedalt_entry(),   fedbabu_entry(), fedrecon_entry(),    als_entry(),    ials_entry(),   ials_differences_entry(),
      pfedrec_entry(),  fedrap_entry(),  popularity_entry(),  ditto_entry(),  pfedme_entry(), apfl_entry(),
      scaffold_entry(), feddyn_entry(),  centralized_entry(), python_entry(),
  }};
  return entries;
}

}  // namespace

const std::vector<algorithm_entry>& registered_algorithms() { return table().entries; }

void register_algorithm(algorithm_entry entry) {
  for (const auto* table_of_keys : {"client", "reconstruction", "server", "aggregation"})
    if (entry.kind == table_of_keys) throw std::invalid_argument("\"" + entry.kind + "\" is a table of [algorithm]");
  const auto* base = entry.alias_of.empty() ? nullptr : find_algorithm(entry.alias_of);
  if (entry.alias_of.empty() ? !entry.build : base == nullptr || !base->build)
    throw std::invalid_argument("algorithm \"" + entry.kind + "\" cannot be built");
  check_options(entry.options, "algorithm." + entry.kind);
  for (const auto& name : entry.tensor_options) {
    const auto option = std::ranges::find(entry.options, name, &option_spec::name);
    if (option == entry.options.end() || option->type != option_type::text_list)
      throw std::invalid_argument("algorithm \"" + entry.kind + "\" has no option \"" + name +
                                  "\" that is a list of texts: correct its tensor_options");
  }
  if (entry.build)
    entry.build = [build = std::move(entry.build),
                   kind = entry.kind](const option_values& options) -> result<std::shared_ptr<const algorithm>> {
      auto made = build(options);
      if (made && *made == nullptr)
        return fail(error::kind::usage, "algorithm.kind", "is \"" + kind + "\", whose build returns null",
                    "let it return an algorithm, or the error that prevents one");
      return made;
    };
  const auto& traits = entry.traits;
  if (!entry.traits_of && traits.private_tensors == private_use::required && !traits.keeps_state &&
      !traits.reconstructs && traits.start != private_start::common)
    throw std::invalid_argument("algorithm \"" + entry.kind +
                                "\" needs private tensors and discards them after every task: set keeps_state or "
                                "reconstructs in its traits, or start = common if no client trains them");
  table().add(std::move(entry));
}

const algorithm_entry* find_algorithm(std::string_view kind) { return table().find(kind); }

chosen_algorithm::chosen_algorithm() : chosen_algorithm(table().entries.front().kind) {}

chosen_algorithm::chosen_algorithm(std::string_view of, const option_values& options) : kind(of) {
  const auto* entry = find_algorithm(of);
  if (entry == nullptr || !entry->build) throw std::invalid_argument("no algorithm \"" + kind + "\" is registered");
  auto values = defaults(entry->options);
  for (const auto& [name, value] : options.all()) values.set(name, value);
  auto built = entry->build(values);
  if (!built) throw std::invalid_argument(built.error().text());
  traits = entry->traits;
  if (entry->traits_of) {
    auto own = entry->traits_of(values);
    if (!own) throw std::invalid_argument(own.error().text());
    traits = std::move(*own);
  }
  does = std::move(*built);
}

}  // namespace furlong::federated
