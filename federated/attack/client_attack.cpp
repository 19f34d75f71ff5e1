#include "federated/attack/client_attack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "federated/attack/attack.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/attack.hpp"
#include "federated/world/attackers.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

models::examples_view attacked_examples(const experiment& run, const task_id& task,
                                        const models::examples_view& examples, models::examples& room) {
  const auto* attack = run.settings.attack->entry;
  if (attack == nullptr || attack->poison == nullptr || examples.size() == 0 ||
      !is_attacked_by(run, task.version, task.client))
    return examples;
  return attack->poison({run, task}, examples, room);
}

void attack_update(const experiment& run, const task_id& task, const update_limits& limits, models::delta& change) {
  const auto* attack = run.settings.attack->entry;
  if (attack == nullptr || attack->change == nullptr || !run.parts.sends_model ||
      !is_attacked_by(run, task.version, task.client))
    return;
  attack->change({run, task}, change);
  fit_to_bounds(run, limits, std::numeric_limits<double>::infinity(), change);
}

void fit_to_bounds(const experiment& run, const update_limits& limits, double longest, models::delta& change) {
  constexpr double slack = 1.0 - 0x1p-20;  // products are rounded to float32
  const auto shorten = [](std::span<float> values, double most) {
    const double norm = std::sqrt(models::kernels().norm_squared(values.data(), values.size()));
    if (!(norm > most)) return;
    const auto factor = static_cast<float>(most / norm);
    for (auto& value : values) value *= factor;
  };
  for (std::size_t t = 0; t < run.parts.shared->count(); ++t)
    shorten(change.values_of(t), slack * run.settings.aggregation->max_norm);
  shorten(change.values, slack * longest);
  clip_to(limits, rounds_numbers(run.settings), change);
}

}  // namespace furlong::federated
