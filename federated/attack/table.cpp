#include <algorithm>
#include <stdexcept>

#include "federated/attack/kinds.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

const std::vector<attack_entry>& attacks() {
  static const std::vector<attack_entry> entries = {
      sign_flip_attack(), gaussian_attack(), label_flip_attack(),        mimic_attack(),
      ipm_attack(),       alie_attack(),     min_max_attack(),           opt_ipm_attack(),
      opt_alie_attack(),  backdoor_attack(), model_replacement_attack(), promote_item_attack(),
      fedrec_attack()};
  return entries;
}

const attack_entry* find_attack(std::string_view kind) {
  const auto found = std::ranges::find(attacks(), kind, &attack_entry::kind);
  return found == attacks().end() ? nullptr : &*found;
}

option_spec knows_option() {
  return choice_option(
      "knows", "own",
      "own: colluding clients know the updates that they would send honestly. all: those of all honest "
      "clients of the round.",
      {"own", "all"});
}

option_spec strength_option() {
  return number_option(
      "strength", std::nullopt,
      "sign-flip and ipm: the factor of the negated update or mean, 1 and 2 by default. alie: standard "
      "deviations; the default follows from the numbers of clients. gaussian: the standard deviation, "
      "1 by default. Others: the factor of the poisoned update; model-replacement: by default the "
      "number of updates over the server's learning rate, else 1.",
      {0.0, 1e9});
}

option_spec target_option() {
  option_spec made{.name = "target",
                   .type = option_type::text_list,
                   .fallback = std::vector<std::string>(),
                   .doc =
                       "promote-item and fedrec-attack: ids of the promoted items. Backdoors in texts: the word that "
                       "follows the trigger."};
  return made;
}

option_spec poison_option() {
  return number_option("poison", 0.32,
                       "Backdoors and promote-item: the share of a bad client's examples that is replaced.",
                       {0.0, 1.0, true});
}

const attack_settings& attack_task::settings() const { return *run.settings.attack; }

random_stream attack_task::draws(std::uint32_t part) const {
  return {run.settings.seed, purpose::attack, static_cast<std::uint32_t>(task.version), task.client, part};
}

std::size_t attack_task::model_tensors() const { return run.parts.shared->count(); }

attack_settings::attack_settings() {
  static const auto fallbacks = [] {
    option_values values;
    for (const auto& each : federated::attacks())
      for (const auto& option : each.options)
        if (option.fallback) values.set(option.name, *option.fallback);
    return values;
  }();
  options = fallbacks;
}

attack_settings::attack_settings(std::string_view kind, const option_values& given) : attack_settings() {
  choose(kind);
  for (const auto& [name, value] : given.all()) options.set(name, value);
}

void attack_settings::choose(std::string_view kind) {
  entry = find_attack(kind);
  if (entry == nullptr && kind != "none") throw std::invalid_argument("no attack \"" + std::string(kind) + "\"");
}

double attack_settings::number_or(std::string_view option, double otherwise) const {
  return options.has(option) ? options.number(option) : otherwise;
}

const std::vector<std::uint32_t>& attack_settings::named(std::string_view option) const {
  static const std::vector<std::uint32_t> nothing;
  const auto found = features.find(option);
  return found == features.end() ? nothing : found->second;
}

}  // namespace furlong::federated
