// An algorithm whose traits follow from its options: from what a class that comes with the data says of itself, or, for
// who does not have the class, from what the scenario says of it.
#include <algorithm>

#include "federated/experiment/algorithm.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// The key that names the class; empty: the dataset has none.
std::string class_key(const draft& document) {
  return document.source == nullptr || document.source->algorithm.empty() ? std::string()
                                                                          : document.source->table + ".algorithm";
}

std::string table_of(const federated::algorithm_entry& document) { return "algorithm." + document.kind + "."; }

/// Whether the scenario says what the algorithm is.
bool is_stated(const draft& document, const federated::algorithm_entry& entry) {
  return std::ranges::any_of(entry.options,
                             [&](const auto& option) { return document.is_set(table_of(entry) + option.name); });
}

/// Reports why there is no description, unless the check of the dataset does.
void report_undescribed(draft& document) {
  const auto& entry = *document.named;
  const auto key = class_key(document);
  const bool has_class = !key.empty() && document.is_set(key);
  if (has_class || is_stated(document, entry)) {
    const auto said = has_class ? document.source->describe_algorithm(source_options(document))
                                : std::optional(options_of(document, table_of(entry)));
    if (!said) return;
    if (const auto traits = entry.traits_of(*said); !traits)
      document.report(traits.error().place, traits.error().reason, traits.error().fix);
    return;
  }
  document.report("algorithm.kind", "is " + toml_string(entry.kind) + ", and the scenario names no class",
                  "write algorithm = \"FILE.py:CLASS\" in [python], with data.source = \"python\"");
}

/// The server optimizer is the model's alone.
void note_shared_groups(draft& document) {
  const std::string table = "algorithm.server.";
  const auto groups = table_of(*document.algorithm) + "groups";
  if (!document.good({groups, table + "optimizer", table + "lr"})) return;
  const auto described = document.values.list(groups);
  const bool has_shared = std::ranges::any_of(described, [](const auto& text) {
    return text.substr(std::min(text.find(' '), text.size())).starts_with(" shared ");
  });
  if (has_shared && (!document.is(table + "optimizer", "sgd") || document.values.number(table + "lr") != 1.0))
    document.notes.push_back(
        "algorithm.server acts on the model alone: the aggregates of shared groups are added as they are");
}

}  // namespace

described_entry describe_algorithm(const draft& document) {
  const auto* entry = document.named;
  auto made = std::make_shared<federated::algorithm_entry>(*entry);
  auto options = options_of(document, table_of(*entry));
  const auto key = class_key(document);
  if (!key.empty() && document.is_set(key) && document.source->algorithm == entry->kind) {
    const auto said = document.source->describe_algorithm(source_options(document));
    if (!said) return nullptr;
    for (auto& option : made->options) option.fallback = said->all().at(option.name);
    options = defaults(made->options);
  } else if (!is_stated(document, *entry)) {
    return nullptr;
  }
  auto traits = entry->traits_of(options);
  if (!traits) return nullptr;
  made->traits = std::move(*traits);
  const bool keeps_private = made->traits.private_tensors != federated::private_use::ignored;
  if (keeps_private && document.good({"model.private"}) && !document.values.list("model.private").empty())
    made->traits.keeps_state = true;
  return made;
}

void check_algorithm_class(draft& document) {
  const auto key = class_key(document);
  const bool is_named = !key.empty() && document.is_set(key);
  if (document.named == nullptr) return;
  if (is_named && document.source->algorithm != document.named->kind) {
    document.notes.push_back(key + " has no effect: algorithm.kind is " + toml_string(document.named->kind));
    return document.values.set(key, std::string());
  }
  if (!document.named->traits_of) return;
  if (document.algorithm == nullptr) return report_undescribed(document);
  note_shared_groups(document);
  if (!is_named) return;
  for (const auto& option : document.algorithm->options)
    if (const auto stated = table_of(*document.algorithm) + option.name;
        document.is_changed(stated) && document.good({stated}))
      document.report(stated,
                      "is not what " + quoted(document, key) +
                          " has: " + listed(std::get<std::vector<std::string>>(*option.fallback)),
                      "use the class that the scenario is about, or remove the key");
}

}  // namespace furlong::scenarios
