// Label flip: what is learned of mirrored labels, 1 - y, C - 1 - y of C classes, or of ratings y the lowest and the
// highest of the client's labels less y.
#include <algorithm>

#include "federated/attack/kinds.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

namespace {

models::examples_view mirror(const attack_task& bad, const models::examples_view& examples, models::examples& room) {
  const auto facts = bad.run.participants->facts();
  const auto [lowest, highest] = std::ranges::minmax(examples.labels);
  const float sum = facts.labels == models::objective::logistic      ? 1.0F
                    : facts.labels == models::objective::categorical ? static_cast<float>(facts.classes - 1)
                                                                     : lowest + highest;
  room.labels.resize(examples.size());
  std::ranges::transform(examples.labels, room.labels.begin(), [sum](float label) { return sum - label; });
  auto mirrored = examples;
  mirrored.labels = room.labels;
  return mirrored;
}

}  // namespace

attack_entry label_flip_attack() {
  using models::objective;
  return {.kind = "label-flip",
          .doc = "what they learn of mirrored labels",
          .labels = {objective::squared_error, objective::logistic, objective::categorical},
          .misfit = "are neither ratings nor classes that can be mirrored",
          .poison = mirror};
}

}  // namespace furlong::federated
