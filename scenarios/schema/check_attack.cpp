// Checks of [attack].
#include <algorithm>
#include <cmath>

#include "federated/attack/attack.hpp"
#include "federated/experiment/single_updates.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

void check_bad_clients(draft& document) {
  const std::string clients = "attack.clients";
  if (document.good({clients}))
    if (const double value = document.values.number(clients); value > 1.0 && value != std::floor(value))
      document.report(clients, "is neither a share below 1 nor a whole number", "write 0.1 for a tenth, or a number");
  const std::string list = "attack.list";
  if (!document.good({list})) return;
  const auto& numbers = document.values.numbers(list);
  if (std::ranges::any_of(numbers, [](double client) { return client != std::floor(client); }))
    document.report(list, "has a number that is none of a client", "write whole numbers");
  if (!numbers.empty() && document.is_changed(clients))
    document.report(clients, "has no meaning with attack.list", "remove one of them");
}

/// Problems of another program have data and labels of their own: they are of objective custom. Sources of
/// other libraries need not say what theirs are.
void check_labels(draft& document, const federated::attack_entry& attack) {
  if (document.source == nullptr || attack.labels.empty()) return;
  const bool own_model = static_cast<bool>(document.source->model);
  if (!own_model && !document.source->facts) return;
  const auto labels = own_model ? models::objective::custom : document.source->facts(source_options(document)).labels;
  if (std::ranges::find(attack.labels, labels) == attack.labels.end())
    document.report(
        "attack.kind",
        "is \"" + attack.kind + "\", and the labels of " + quoted(document, "data.source") + " " + attack.misfit,
        "choose another attack");
  else if (own_model)
    for (const auto& option : attack.options)
      if (const auto key = "attack." + option.name; option.name != "strength" && document.is_changed(key))
        document.report(key, "describes poisoned examples, and those of the data are the problem's own",
                        "remove it, and poison the examples of bad clients in the problem");
}

/// They may not be empty, and are looked up when the data are read.
void check_names(draft& document, const federated::attack_entry& attack) {
  if (document.source != nullptr && document.source->model) return;
  for (const auto& name : attack.names)
    if (const auto key = "attack." + name; document.good({key}) && document.values.list(key).empty())
      document.report(key, "is empty, and attack.kind = \"" + attack.kind + "\" needs it",
                      "name at least one feature of the data: an item, a word");
}

}  // namespace

void check_attack(draft& document) {
  const std::string key = "attack.kind";
  if (!document.good({key})) return;
  const auto* attack = federated::find_attack(document.values.text(key));
  if (attack == nullptr) return;
  check_bad_clients(document);
  check_labels(document, *attack);
  check_names(document, *attack);
  if (!attack->colludes()) return;
  federated::check_one_process(
      document, "and the clients of attack.kind = \"" + attack->kind + "\" make one update of those of a whole round");
  if (document.is_on("evaluation.attention"))
    document.report("evaluation.attention",
                    "records updates when they arrive, and those of " + attack->kind + " are made later", "remove it");
  if (attack->searches && document.is("attack.knows", "own"))
    document.report(
        "attack.knows",
        "is \"own\", and " + attack->kind + " searches by what the rule makes of the updates of all clients",
        "write \"all\"");
}

}  // namespace furlong::scenarios
