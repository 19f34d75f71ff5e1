// Sign flip: each bad client sends -strength times its own update (FLPoison, Blades; byzfl flips the honest mean).
#include "federated/attack/kinds.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

void flip(const attack_task& bad, models::delta& change) {
  const auto factor = static_cast<float>(bad.settings().number_or("strength", 1.0));
  for (std::size_t t = 0; t < bad.model_tensors(); ++t)
    for (auto& value : change.values_of(t)) value *= -factor;
}

}  // namespace

attack_entry sign_flip_attack() {
  return {
      .kind = "sign-flip", .doc = "-strength times their own update", .options = {strength_option()}, .change = flip};
}

}  // namespace furlong::federated
