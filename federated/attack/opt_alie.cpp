// A little is enough with the factor z >= 0 that moves the aggregate furthest (byzfl).
#include "federated/attack/crafted_update.hpp"
#include "federated/attack/kinds.hpp"

namespace furlong::federated {

namespace {

std::vector<double> deviate(const attack_settings& /*settings*/, const known_updates& known,
                            function_ref<double(std::span<const double>)> harm) {
  const auto mean = mean_of(known);
  const auto deviation = deviation_of(known, mean, 1);
  const double factor = worst_factor([&](double tried) { return harm(moved(mean, tried, deviation)); });
  return moved(mean, factor, deviation);
}

}  // namespace

attack_entry opt_alie_attack() {
  return {.kind = "opt-alie",
          .doc = "alie with the factor that moves this run's rule furthest",
          .options = {knows_option()},
          .craft = deviate,
          .searches = true};
}

}  // namespace furlong::federated
