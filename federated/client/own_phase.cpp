#include "federated/client/own_phase.hpp"

#include <algorithm>
#include <vector>

#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

/// A term for those of its tensors that are trained.
models::phase_term term_of(float factor, models::phase_term::form kind, models::tensor_values values,
                           std::span<const std::size_t> tensors, std::span<float* const> trained) {
  models::phase_term made{factor, kind, std::vector<models::tensor_view>(trained.size())};
  for (const auto t : tensors)
    if (trained[t] != nullptr) made.values[t] = values[t];
  return made;
}

}  // namespace

std::uint64_t seed_from(random_stream draws) {
  const std::uint64_t high = draws();
  return std::max<std::uint64_t>(high << 32U | draws(), 1);
}

phase_result run_own_loop(const experiment& e, workspace& use, const own_phase& phase) {
  const auto count = e.parts.model->count();
  if (use.own_values.size() < use.weights.size()) use.own_values.resize(use.weights.size());
  const auto out = use.weights.values_in(use.own_values.data());
  std::vector<models::tensor_view> weights(count);
  std::vector<float*> targets(count, nullptr);
  for (std::size_t t = 0; t < count; ++t) weights[t] = phase.start[t];
  auto& moved = use.moved;
  models::moved_buffers(e.parts, phase.tensors, moved);
  for (const auto all : {phase.tensors, std::span<const std::size_t>(moved)})
    for (const auto t : all) targets[t] = out[t].data;

  using form = models::phase_term::form;
  std::vector<models::phase_term> terms;
  for (const auto& [factor, values, tensors] : phase.terms)
    terms.push_back(
        term_of(factor, values.data == phase.start.data ? form::weights : form::values, values, tensors, targets));
  if (const float proximal = phase.loop.step.proximal; proximal != 0.0F)
    terms.push_back(term_of(proximal, form::difference, phase.center, e.parts.shared_tensors, targets));

  const auto result = e.model->own_loop()->run({.weights = weights,
                                                .out = targets,
                                                .private_tensors = e.parts.private_tensors,
                                                .terms = terms,
                                                .examples = use.visits,
                                                .per_epoch = phase.per_epoch,
                                                .epochs = phase.loop.epochs,
                                                .max_steps = phase.loop.max_steps,
                                                .batch_size = phase.loop.batch_size,
                                                .shuffle = phase.loop.shuffle,
                                                .step = phase.loop.step,
                                                .dropout = phase.dropout,
                                                .seed = seed_from(phase.draws),
                                                .rounds = e.settings.rounds});
  assign(phase.start, out, phase.tensors);
  assign(phase.start, out, moved);
  return result;
}

}  // namespace furlong::federated
