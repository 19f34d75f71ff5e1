#include "federated/attack/client_attack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/attack.hpp"
#include "federated/world/attackers.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

models::examples_view attacked_examples(const experiment& run, const task_id& task,
                                        const models::examples_view& examples, std::vector<float>& room) {
  if (run.settings.attack->kind != attack_kind::label_flip || examples.size() == 0 ||
      !is_attacked_by(run, task.version, task.client))
    return examples;
  const auto facts = run.participants->facts();
  const auto [lowest, highest] = std::ranges::minmax(examples.labels);
  const float sum = facts.labels == models::objective::logistic      ? 1.0F
                    : facts.labels == models::objective::categorical ? static_cast<float>(facts.classes - 1)
                                                                     : lowest + highest;
  room.resize(examples.size());
  std::ranges::transform(examples.labels, room.begin(), [sum](float label) { return sum - label; });
  auto mirrored = examples;
  mirrored.labels = room;
  return mirrored;
}

void attack_update(const experiment& run, const task_id& task, const update_limits& limits, models::delta& change) {
  const auto& attack = *run.settings.attack;
  const bool flips = attack.kind == attack_kind::sign_flip;
  if ((!flips && attack.kind != attack_kind::gaussian) || !run.parts.sends_model ||
      !is_attacked_by(run, task.version, task.client))
    return;
  const auto factor = static_cast<float>(attack.strength.value_or(1.0));
  if (!flips) change = models::to_dense(change);
  random_stream stream(run.settings.seed, purpose::attack, static_cast<std::uint32_t>(task.version), task.client);
  for (std::size_t t = 0; t < run.parts.shared->count(); ++t)
    for (auto& value : change.values_of(t)) value = flips ? -factor * value : factor * stream.normal();
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
