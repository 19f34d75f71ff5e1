// Inner-product manipulation with the factor tau >= 0 that moves the aggregate furthest (byzfl).
#include "federated/attack/crafted_update.hpp"
#include "federated/attack/kinds.hpp"

namespace furlong::federated {

namespace {

std::vector<double> reverse(const attack_settings& /*settings*/, const known_updates& known,
                            function_ref<double(std::span<const double>)> harm) {
  const auto mean = mean_of(known);
  const auto reversed = [&](double factor) { return moved(std::vector<double>(mean.size(), 0.0), -factor, mean); };
  return reversed(worst_factor([&](double factor) { return harm(reversed(factor)); }));
}

}  // namespace

attack_entry opt_ipm_attack() {
  return {.kind = "opt-ipm",
          .doc = "ipm with the factor that moves this run's rule furthest",
          .options = {knows_option()},
          .craft = reverse,
          .searches = true};
}

}  // namespace furlong::federated
