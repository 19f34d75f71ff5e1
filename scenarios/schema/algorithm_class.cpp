// An algorithm whose traits follow from its options: from what a class that comes with the data says of itself, or, for
// who does not have the class, from what the scenario says of it.
#include <algorithm>

#include "federated/algorithm.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// The key that names the class; empty: the dataset has none.
std::string class_key(const draft& of) {
  return of.source == nullptr || of.source->algorithm.empty() ? std::string() : of.source->table + ".algorithm";
}

std::string table_of(const federated::algorithm_entry& of) { return "algorithm." + of.kind + "."; }

/// Whether the scenario says what the algorithm is.
bool is_stated(const draft& of, const federated::algorithm_entry& entry) {
  return std::ranges::any_of(entry.options,
                             [&](const auto& option) { return of.is_set(table_of(entry) + option.name); });
}

/// Reports why there is no description, unless the check of the dataset does.
void report_undescribed(draft& of) {
  const auto& entry = *of.named;
  const auto key = class_key(of);
  const bool has_class = !key.empty() && of.is_set(key);
  if (has_class || is_stated(of, entry)) {
    const auto said =
        has_class ? of.source->describe_algorithm(source_options(of)) : std::optional(options_of(of, table_of(entry)));
    if (!said) return;
    if (const auto traits = entry.traits_of(*said); !traits)
      of.report(traits.error().place, traits.error().reason, traits.error().fix);
    return;
  }
  of.report("algorithm.kind", "is " + toml_string(entry.kind) + ", and the scenario names no class",
            "write algorithm = \"FILE.py:CLASS\" in [python], with data.source = \"python\"");
}

/// The server optimizer is the model's alone.
void note_shared_groups(draft& of) {
  const std::string table = "algorithm.server.";
  const auto groups = table_of(*of.algorithm) + "groups";
  if (!of.good({groups, table + "optimizer", table + "lr"})) return;
  const auto described = of.values.list(groups);
  const bool has_shared = std::ranges::any_of(described, [](const auto& text) {
    return text.substr(std::min(text.find(' '), text.size())).starts_with(" shared ");
  });
  if (has_shared && (!of.is(table + "optimizer", "sgd") || of.values.number(table + "lr") != 1.0))
    of.notes.push_back(
        "algorithm.server acts on the model alone: the aggregates of shared groups are added as they are");
}

}  // namespace

described_entry describe_algorithm(const draft& of) {
  const auto* entry = of.named;
  auto made = std::make_shared<federated::algorithm_entry>(*entry);
  auto options = options_of(of, table_of(*entry));
  const auto key = class_key(of);
  if (!key.empty() && of.is_set(key) && of.source->algorithm == entry->kind) {
    const auto said = of.source->describe_algorithm(source_options(of));
    if (!said) return nullptr;
    for (auto& option : made->options) option.fallback = said->all().at(option.name);
    options = defaults(made->options);
  } else if (!is_stated(of, *entry)) {
    return nullptr;
  }
  auto traits = entry->traits_of(options);
  if (!traits) return nullptr;
  made->traits = std::move(*traits);
  const bool keeps_private = made->traits.private_tensors != federated::private_use::ignored;
  if (keeps_private && of.good({"model.private"}) && !of.values.list("model.private").empty())
    made->traits.keeps_state = true;
  return made;
}

void check_algorithm_class(draft& of) {
  const auto key = class_key(of);
  const bool is_named = !key.empty() && of.is_set(key);
  if (of.named == nullptr) return;
  if (is_named && of.source->algorithm != of.named->kind) {
    of.notes.push_back(key + " has no effect: algorithm.kind is " + toml_string(of.named->kind));
    return of.values.set(key, std::string());
  }
  if (!of.named->traits_of) return;
  if (of.algorithm == nullptr) return report_undescribed(of);
  note_shared_groups(of);
  if (!is_named) return;
  for (const auto& option : of.algorithm->options)
    if (const auto stated = table_of(*of.algorithm) + option.name; of.is_changed(stated) && of.good({stated}))
      of.report(
          stated,
          "is not what " + quoted(of, key) + " has: " + listed(std::get<std::vector<std::string>>(*option.fallback)),
          "use the class that the scenario is about, or remove the key");
}

}  // namespace furlong::scenarios
