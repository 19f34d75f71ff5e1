#include "federated/experiment/experiment.hpp"

#include <algorithm>

#include "federated/settings/algorithm_traits.hpp"

namespace furlong::federated {

namespace {

random_stream shared_stream(const experiment& e, std::size_t tensor) {
  return {e.settings.seed, purpose::initialize_shared, 0, 0, static_cast<std::uint32_t>(tensor)};
}

}  // namespace

void initial_tensor(const experiment& e, std::size_t tensor, std::span<float> out) {
  e.model->initialize(tensor, shared_stream(e, tensor), out);
}

models::shared_parameters initial_model(const experiment& e) {
  models::shared_parameters model(e.parts.shared);
  for (std::size_t t = 0; t < e.parts.slots.size(); ++t) {
    if (e.parts.slots[t].is_private) continue;
    initial_tensor(e, t, model.tensor(e.parts.slots[t].tensor));
  }
  return model;
}

random_stream initial_stream(const experiment& e, std::size_t tensor, std::uint32_t round, std::uint32_t client) {
  const bool common = e.settings.algorithm->traits.start == private_start::common;
  if (common && e.parts.slots[tensor].is_private) return shared_stream(e, tensor);
  return {e.settings.seed, purpose::initialize_private, round, client, static_cast<std::uint32_t>(tensor)};
}

void initial_private(const experiment& e, std::uint32_t round, std::uint32_t client, models::private_parameters& out) {
  // Tensors after the model's own start as zero: unsent values (quantized_traffic.hpp) and kept groups.
  for (auto t = e.parts.own_tensors.size(); t < e.parts.private_->count(); ++t) std::ranges::fill(out.tensor(t), 0.0F);
  for (const auto& group : e.groups)
    for (std::size_t i = 0; group.in_private != placed_group::nowhere && i < group.count(); ++i)
      if (const auto values = out.tensor(group.in_private + i); group.first == first_value::constant)
        std::ranges::fill(values, group.constant);
      else if (group.first == first_value::initial)
        initial_tensor(e, group.copies_of[i], values);
  for (std::size_t t = 0; t < e.parts.slots.size(); ++t) {
    if (!e.parts.slots[t].is_private) continue;
    e.model->initialize(t, initial_stream(e, t, round, client), out.tensor(e.parts.slots[t].tensor));
  }
}

}  // namespace furlong::federated
