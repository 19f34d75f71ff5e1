// Checks of [attack].
#include <algorithm>
#include <array>
#include <cmath>

#include "federated/experiment/single_updates.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::array colluding_attacks = {"mimic", "ipm", "alie", "min-max", "opt-ipm", "opt-alie"};

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

void check_mirrored_labels(draft& document) {
  if (document.source == nullptr) return;
  const bool own_model = static_cast<bool>(document.source->model);
  const auto labels = document.source->facts ? document.source->facts(source_options(document)).labels
                                             : models::objective::squared_error;
  constexpr std::array without = {models::objective::next_token, models::objective::custom, models::objective::ranking};
  if (!own_model && std::ranges::find(without, labels) == without.end()) return;
  document.report("attack.kind",
                  "is \"label-flip\", and the labels of " + quoted(document, "data.source") +
                      " are neither ratings nor classes that can be mirrored",
                  "choose another attack");
}

}  // namespace

void check_attack(draft& document) {
  const std::string key = "attack.kind";
  if (!document.good({key}) || document.values.text(key) == "none") return;
  check_bad_clients(document);
  const auto kind = document.values.text(key);
  if (kind == "label-flip") check_mirrored_labels(document);
  if (std::ranges::find(colluding_attacks, kind) == colluding_attacks.end()) return;
  federated::check_one_process(
      document, "and the clients of attack.kind = \"" + kind + "\" make one update of those of a whole round");
  if (document.is_on("evaluation.attention"))
    document.report("evaluation.attention",
                    "records updates when they arrive, and those of " + kind + " are made later", "remove it");
  if (kind.starts_with("opt-") && document.is("attack.knows", "own"))
    document.report("attack.knows",
                    "is \"own\", and " + kind + " searches by what the rule makes of the updates of all clients",
                    "write \"all\"");
}

}  // namespace furlong::scenarios
