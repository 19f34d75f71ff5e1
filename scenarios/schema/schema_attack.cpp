// The keys of [attack].
#include <cmath>

#include "federated/settings/attack.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/schema_parts.hpp"

namespace furlong::scenarios {

void add_attack_keys(std::vector<key_spec>& keys) {
  using namespace fields;
  using federated::attack_direction;
  using federated::attack_kind;
  using federated::attack_knowledge;
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("attack.kind", FURLONG_AT(attack->kind),
          words<attack_kind>{{"none", attack_kind::none},
                             {"sign-flip", attack_kind::sign_flip},
                             {"gaussian", attack_kind::gaussian},
                             {"label-flip", attack_kind::label_flip},
                             {"mimic", attack_kind::mimic},
                             {"ipm", attack_kind::ipm},
                             {"alie", attack_kind::alie},
                             {"min-max", attack_kind::min_max},
                             {"opt-ipm", attack_kind::opt_ipm},
                             {"opt-alie", attack_kind::opt_alie}},
          "What bad clients do: send their update negated, normal numbers, or what they learn of mirrored labels; or "
          "collude, and all send one update that they make of those that they know (docs/robustness.md)."));
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
  add(key("attack.knows", FURLONG_AT(attack->knows),
          words<attack_knowledge>{{"own", attack_knowledge::own}, {"all", attack_knowledge::all}},
          "own: colluding clients know the updates that they would send honestly. all: those of all honest clients of "
          "the round."));
  key_spec strength =
      plain(number_option("attack.strength", std::nullopt,
                          "sign-flip and ipm: the factor of the negated update or mean, 1 and 2 by default. alie: "
                          "standard deviations; the default follows from the numbers of clients. gaussian: the "
                          "standard deviation, 1 by default.",
                          {0.0, 1e9}));
  strength.apply = [](run_settings& settings, const option_value& value) {
    settings.attack->strength = std::get<double>(value);
  };
  add(std::move(strength));
  add(key(
      "attack.direction", FURLONG_AT(attack->direction),
      words<attack_direction>{{"deviation", attack_direction::deviation},
                              {"sign", attack_direction::sign},
                              {"mean", attack_direction::mean}},
      "min-max: the direction away from the mean of known updates: their standard deviation, the signs of the mean, "
      "or the mean."));
}

}  // namespace furlong::scenarios
