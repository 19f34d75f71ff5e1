// A little is enough (Baruch, Baruch, Goldberg 2019): m + z s.
#include "federated/attack/crafted_update.hpp"
#include "federated/attack/kinds.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

std::vector<double> deviate(const attack_settings& settings, const known_updates& known,
                            function_ref<double(std::span<const double>)> /*harm*/) {
  const auto mean = mean_of(known);
  const double factor = settings.number_or("strength", alie_factor(known.bad + known.honest, known.bad));
  return moved(mean, factor, deviation_of(known, mean, 1));
}

}  // namespace

attack_entry alie_attack() {
  return {.kind = "alie",
          .doc = "the mean of the known updates and strength of their standard deviations",
          .options = {knows_option(), strength_option()},
          .craft = deviate};
}

}  // namespace furlong::federated
