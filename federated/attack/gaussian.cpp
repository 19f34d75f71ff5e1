// Normal numbers in every value, of every row.
#include "federated/attack/kinds.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

void draw(const attack_task& bad, models::delta& change) {
  const auto deviation = static_cast<float>(bad.settings().number_or("strength", 1.0));
  change = models::to_dense(change);
  auto draws = bad.draws();
  for (std::size_t t = 0; t < bad.model_tensors(); ++t)
    for (auto& value : change.values_of(t)) value = deviation * draws.normal();
}

}  // namespace

attack_entry gaussian_attack() {
  return {.kind = "gaussian", .doc = "normal numbers in every value", .options = {strength_option()}, .change = draw};
}

}  // namespace furlong::federated
