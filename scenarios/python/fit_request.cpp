#include "scenarios/python/fit_request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/python/memory_room.hpp"

namespace furlong::scenarios {

namespace {

/// Numbers are written as the shortest decimals that are the same in float32.
using float_json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;

const char* name_of(models::local_optimizer optimizer) {
  switch (optimizer) {
    case models::local_optimizer::sgd: return "sgd";
    case models::local_optimizer::adam: return "adam";
    case models::local_optimizer::adamw: return "adamw";
  }
  return "";
}

/// What of a phase is no array.
std::string settings_of(const models::training_phase& phase, std::span<const problem_parameter> parameters) {
  const auto& step = phase.step;
  auto own = float_json::array();
  for (const auto t : phase.private_tensors) own.push_back(parameters[t].name);
  const float_json settings{{"client",
                             {{"lr", step.rate},
                              {"epochs", phase.epochs},
                              {"batch_size", phase.batch_size},
                              {"max_steps", phase.max_steps},
                              {"shuffle", phase.shuffle},
                              {"momentum", step.momentum},
                              {"proximal", step.proximal},
                              {"optimizer", name_of(step.optimizer)},
                              {"beta1", step.beta1},
                              {"beta2", step.beta2},
                              {"eps", step.eps},
                              {"weight_decay", step.weight_decay},
                              {"clip", step.clip}}},
                            {"private_lr", step.private_rate.value_or(step.rate)},
                            {"private", std::move(own)},
                            {"rounds", phase.rounds},
                            {"dropout", phase.dropout}};
  return settings.dump();
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
