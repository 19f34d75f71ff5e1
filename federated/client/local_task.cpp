#include "federated/client/local_task.hpp"

#include <algorithm>
#include <numeric>

namespace furlong::federated {

local_loop local_task::client_loop() const {
  auto loop = federated::client_loop(settings());
  if (settings().client.schedule == schedule_kind::linear)
    loop.step.rate *= 1.0F - static_cast<float>(out_.id.version) / static_cast<float>(settings().rounds);
  return loop;
}

random_stream local_task::stream(purpose what, std::uint32_t part) const {
  return {settings().seed, what, static_cast<std::uint32_t>(out_.id.version), out_.id.client, part};
}

void local_task::shuffle() {
  use_.order.resize(use_.weights.data().size());
  std::iota(use_.order.begin(), use_.order.end(), 0U);
  stream(purpose::shuffle_examples, shuffles_++).shuffle(std::span(use_.order));
  use_.weights.reorder(use_.order);
}

void local_task::deal(bool split) {
  deal_batches(use_, settings().client.batch_size, split, settings().reconstruction);
}

void local_task::train(std::span<const std::size_t> tensors) {
  use_.weights.train_only(tensors);
  use_.weights.drop_by(stream(purpose::dropout, phases_++));
}

phase_result local_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop) {
  train(tensors);
  const auto cut = [&] {
    cut_batches(0, static_cast<std::uint32_t>(use_.weights.data().size()), loop.batch_size, use_.batches);
  };
  if (!loop.shuffle) {
    cut();
    return run_batches(use_.weights, use_.batches, loop.epochs, loop.max_steps, loop.step);
  }
  phase_result all;
  auto left = loop.max_steps;
  for (std::uint32_t epoch = 0; epoch < loop.epochs; ++epoch) {
    if (loop.max_steps != 0 && left == 0) break;
    shuffle();
    cut();
    const auto one = run_batches(use_.weights, use_.batches, 1, left, loop.step);
    all.examples += one.examples;
    all.loss_sum += one.loss_sum;
    left -= std::min(left, static_cast<std::uint32_t>(use_.batches.size()));
  }
  return all;
}

phase_result local_task::sgd_on_query(std::span<const std::size_t> tensors) {
  train(tensors);
  const auto loop = client_loop();
  return run_batches(use_.weights, use_.query, loop.epochs, loop.max_steps, loop.step);
}

phase_result local_task::reconstruct(std::span<const std::size_t> tensors) {
  return federated::reconstruct(*e_.model, use_.weights, tensors, use_.support, settings().reconstruction, use_.solver);
}

void local_task::count(const phase_result& phase) {
  count_unweighted(phase);
  out_.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(out_.weight + phase.examples, UINT32_MAX));
  out_.loss_sum += phase.loss_sum;
}

}  // namespace furlong::federated
