#include "scenarios/python/fit_request.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/python/loop_settings.hpp"
#include "scenarios/python/memory_room.hpp"

namespace furlong::scenarios {

namespace {

/// What of a phase is no array.
std::string settings_of(const models::training_phase& phase, std::span<const problem_parameter> parameters) {
  std::vector<std::string> own;
  for (const auto t : phase.private_tensors) own.push_back(parameters[t].name);
  return text_of({.step = phase.step,
                  .epochs = phase.epochs,
                  .batch_size = phase.batch_size,
                  .max_steps = phase.max_steps,
                  .shuffle = phase.shuffle,
                  .private_tensors = std::move(own),
                  .rounds = phase.rounds,
                  .dropout = phase.dropout});
}

}  // namespace

bool is_of_one_part(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> examples) {
  const auto part = part_of(starts, examples.front());
  return std::ranges::all_of(examples, [&](auto one) { return one >= starts[part] && one < starts[part + 1]; });
}

void fit_request::write(std::span<const std::uint32_t> starts, request_buffer& request, large_floats& copies) const {
  const auto count = phase.weights.size();
  const auto part = part_of(starts, phase.examples.front());
  const auto settings = settings_of(phase, parameters);
  request.clear();
  request.put(phase.seed);
  for (const std::size_t number : {std::size_t{round}, count, phase.terms.size(), part / 3, part % 3,
                                   std::size_t{phase.per_epoch}, phase.examples.size(), settings.size()})
    request.put(static_cast<std::uint32_t>(number));

  memory_room room(copies);
  for (const auto& view : phase.weights) room.expect(view.data, view.size());
  for (std::size_t t = 0; t < count; ++t)
    if (phase.out[t] != nullptr) room.expect(phase.out[t], phase.weights[t].size());
  for (const auto& term : phase.terms)
    for (const auto& view : term.values)
      if (view.data != nullptr) room.expect(view.data, view.size());

  for (const auto& view : phase.weights) request.put(room.place(view.data, view.size(), true));
  for (std::size_t t = 0; t < count; ++t)
    request.put(phase.out[t] == nullptr ? not_wanted : room.place(phase.out[t], phase.weights[t].size(), false));
  for (const auto& term : phase.terms) {
    request.put(term.factor);
    request.put(static_cast<std::uint32_t>(term.what));
    for (const auto& view : term.values)
      request.put(view.data == nullptr ? not_wanted : room.place(view.data, view.size(), true));
  }
  for (const auto example : phase.examples) request.put(example - starts[part]);
  request.put(std::span<const char>(settings));
}

void fit_request::read_copies(large_floats& copies) const {
  memory_room room(copies);
  for (const auto& view : phase.weights) room.skip(view.data, view.size());
  for (std::size_t t = 0; t < phase.weights.size(); ++t)
    if (auto* target = phase.out[t]; target != nullptr) room.fetch(target, phase.weights[t].size());
}

}  // namespace furlong::scenarios
