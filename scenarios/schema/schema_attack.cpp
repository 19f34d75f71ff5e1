// The keys of [attack].
#include <algorithm>

#include "federated/attack/attack.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/schema_parts.hpp"

namespace furlong::scenarios {

namespace {

std::string kinds_text() {
  std::string text = "What bad clients send.";
  for (const auto& entry : federated::attacks()) text += " " + entry.kind + ": " + entry.doc + ".";
  return text;
}

}  // namespace

void add_attack_keys(std::vector<key_spec>& keys) {
  using namespace fields;
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  auto kinds = kinds_of(federated::attacks());
  kinds.insert(kinds.begin(), "none");
  key_spec kind = plain(choice_option("attack.kind", "none", kinds_text(), std::move(kinds)));
  kind.apply = [](run_settings& settings, const option_value& value) {
    settings.attack->choose(std::get<std::string>(value));
  };
  add(std::move(kind));
  add(key("attack.clients", FURLONG_AT(attack->clients),
          "The bad clients, drawn once by the seed: a share below 1 of those that train, or a number.",
          {0.0, 1e9, true}));
  key_spec list = plain({.name = "attack.list",
                         .type = option_type::number_list,
                         .fallback = std::vector<double>(),
                         .doc = "The bad clients by their numbers, in the place of `clients`.",
                         .at_least = 0.0,
                         .at_most = 4294967295.0});
  list.apply = [](run_settings& settings, const option_value& value) {
    settings.attack->listed.clear();
    for (const double client : std::get<std::vector<double>>(value))
      settings.attack->listed.push_back(static_cast<std::uint32_t>(client));
  };
  add(std::move(list));
  add(key("attack.from_round", FURLONG_AT(attack->from_round), "The first attacked round; until then all are honest.",
          at_least_one));
  std::vector<std::string> added;
  for (const auto& entry : federated::attacks())
    for (const auto& option : entry.options) {
      if (std::ranges::find(added, option.name) != added.end()) continue;
      added.push_back(option.name);
      key_spec spec = plain(option);
      spec.option.name = "attack." + option.name;
      spec.apply = [name = option.name](run_settings& settings, const option_value& value) {
        settings.attack->options.set(name, value);
      };
      add(std::move(spec));
    }
}

}  // namespace furlong::scenarios
