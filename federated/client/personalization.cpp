#include "federated/client/personalization.hpp"

#include <algorithm>

#include "federated/client/own_phase.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"

namespace furlong::federated {

namespace {

/// What the traits say is done: `reconstructed` are reset and reconstructed, then `tuned` trained further.
struct steps {
  std::vector<std::size_t> reconstructed;
  std::vector<std::size_t> tuned;
};

/// A client that never trained has no private values; one that could have had them starts as in training.
std::vector<std::size_t> reconstructed_unseen(const experiment& e) {
  const bool keeps_private = e.settings.algorithm->traits.keeps_state && !e.parts.own_tensors.empty();
  const bool as_it_is = keeps_private && !starts_cold(e, false);
  return as_it_is ? std::vector<std::size_t>() : reconstructed_tensors(e);
}

steps steps_for(const experiment& e, const client_kind& who) {
  // Somebody new is known by the examples given alone: they serve to find what only training could give.
  if (!who.known) return {reconstructed_tensors(e), {}};
  if (!who.trains) return {reconstructed_unseen(e), {}};
  const auto& traits = e.settings.algorithm->traits;
  steps made;
  if (traits.reconstructs || starts_cold(e, who.has_state)) made.reconstructed = e.parts.own_tensors;
  if (traits.reconstructs) return made;
  auto named = reconstructed_unseen(e);
  // Where a shared tensor is among them, the client's own go on from their values, too.
  if (std::ranges::any_of(named, [&](auto tensor) { return !is_personal(e, tensor); })) made.tuned = std::move(named);
  return made;
}

/// Whether there are tensors that a client without stored values has from no training: private ones, or the row of a
/// client that never trains it.
bool has_untrained(const experiment& e, const client_kind& who) {
  const auto tensors = e.parts.model->tensors();
  return !e.parts.own_tensors.empty() || (!who.trains && std::ranges::any_of(tensors, [](const auto& one) {
    return one.index == models::row_index::by_client;
  }));
}

}  // namespace

bool starts_cold(const experiment& e, bool has_state) {
  const auto& settings = e.settings;
  return settings.algorithm->traits.keeps_state && !has_state &&
         settings.own->cold_start == cold_start_kind::reconstruct;
}

bool is_personal(const experiment& e, std::size_t tensor) {
  return e.parts.slots[tensor].is_private || (*e.parts.model)[tensor].index == models::row_index::by_client;
}

std::vector<std::size_t> reconstructed_tensors(const experiment& e) {
  std::vector<std::size_t> tensors;
  for (const auto& name : e.settings.evaluation->reconstruct)
    if (const auto tensor = e.parts.model->find(name)) tensors.push_back(*tensor);
  std::ranges::sort(tensors);
  return tensors;
}

personal_task::personal_task(const experiment& e, const models::shared_parameters& down, std::uint32_t client,
                             workspace& use, bool has_state)
    : local_values(e, down, client, use, has_state), client_(client) {
  cut_batches(0, static_cast<std::uint32_t>(use.weights.data().size()), reconstruction_batch(e.settings), use.support);
}

void personal_task::reset(std::span<const std::size_t> tensors) {
  for (const auto t : tensors)
    if (is_personal(e_, t)) use_.weights.reinitialize(t, initial_stream(e_, t, 0, client_));
}

phase_result personal_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop) {
  if (tensors.empty() || !has_examples()) return {};
  const batch_range all{0, static_cast<std::uint32_t>(examples().size())};
  if (e_.model->own_loop() != nullptr)
    return run_own_loop(e_, use_,
                        {.start = weights(),
                         .tensors = tensors,
                         .loop = loop,
                         .per_epoch = visit({&all, 1}),
                         .center = loop.step.proximal != 0.0F ? received() : models::tensor_values(),
                         .draws = next_draws(),
                         .dropout = false});
  cut_batches(all.first, all.last, loop.batch_size, use_.batches);
  use_.weights.train_only(tensors);
  return run_batches(use_.weights, use_.batches, loop.epochs, loop.max_steps, loop.step);
}

random_stream personal_task::next_draws() {
  constexpr std::uint32_t first = 2U << 20U;  // apart from the sub-streams of a task
  return {settings().seed, purpose::dropout, 0, client_, first + draws_++};
}

std::string_view to_string(personal_source source) {
  switch (source) {
    case personal_source::stored: return "stored";
    case personal_source::reconstructed: return "reconstructed";
    case personal_source::model: return "model";
    case personal_source::initial: return "initial";
    case personal_source::tuned: return "fine-tuned";
  }
  return "unknown";
}

std::uint64_t algorithm::most_weight(const run_settings& settings, std::uint64_t count) const {
  const auto& client = *settings.client;
  const auto all = count * client.epochs;
  const std::uint64_t batch = client.batch_size == 0 ? count : client.batch_size;
  return client.max_steps == 0 ? all : std::min(all, batch * client.max_steps);
}

bool algorithm::personalizes_from_examples(const experiment& e, const client_kind& who) const {
  const auto [reconstructed, tuned] = steps_for(e, who);
  return !reconstructed.empty() || !tuned.empty();
}

personal_source algorithm::personalize(personal_task& task, const client_kind& who) const {
  const auto [reconstructed, tuned] = steps_for(task.of(), who);
  task.reset(reconstructed);
  task.reconstruct(reconstructed);
  task.reconstruct(tuned);
  if (task.has_examples() && !tuned.empty()) return personal_source::tuned;
  if (task.has_examples() && !reconstructed.empty()) return personal_source::reconstructed;
  // Of what the client keeps, private tensors alone predict here: an algorithm that keeps others says what for.
  if (who.has_state && !task.parts().own_tensors.empty()) return personal_source::stored;
  return has_untrained(task.of(), who) ? personal_source::initial : personal_source::model;
}

}  // namespace furlong::federated
