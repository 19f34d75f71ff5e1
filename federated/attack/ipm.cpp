// Inner-product manipulation (Xie, Koyejo, Gupta: "Fall of empires", 2019): -tau m.
#include "federated/attack/crafted_update.hpp"
#include "federated/attack/kinds.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

constexpr double factor_of_byzfl = 2.0;

std::vector<double> reverse(const attack_settings& settings, const known_updates& known,
                            function_ref<double(std::span<const double>)> /*harm*/) {
  const auto mean = mean_of(known);
  return moved(std::vector<double>(mean.size(), 0.0), -settings.number_or("strength", factor_of_byzfl), mean);
}

}  // namespace

attack_entry ipm_attack() {
  return {.kind = "ipm",
          .doc = "-strength times the mean of the known updates",
          .options = {knows_option(), strength_option()},
          .craft = reverse};
}

}  // namespace furlong::federated
