#include "federated/client/scored_examples.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "federated/experiment/algorithm.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"

namespace furlong::federated {

part scored_part(const population& clients, group scored, std::uint32_t client) {
  const auto named = scored == group::validation ? part::validation : part::test;
  const bool is_seen = scored == group::seen || (scored == group::validation && clients.unseen_validation().empty());
  if (is_seen) return named;
  const bool trains = std::ranges::binary_search(clients.training(), client);
  return !trains && clients.count(client, named) > 0 ? named : part::train;
}

scored_examples split_held_out(const experiment& e, group scored, std::uint32_t client) {
  const auto& split = e.settings.evaluation->split;
  const bool adapts =
      split.value_or(true) && e.settings.algorithm->does->personalizes_from_examples(e, {.trains = false});
  scored_examples out;
  out.from = scored_part(*e.clients, scored, client);
  models::examples scratch;
  if (out.from != part::train) {
    out.asked.append(e.clients->load(client, out.from, scratch));
    scratch.clear();
    if (adapts) out.known.append(e.clients->load(client, part::train, scratch));
    return out;
  }
  const auto loaded = e.clients->load(client, part::train, scratch);
  if (!split.value_or(adapts)) {
    out.asked.append(loaded);
    return out;
  }
  std::array<std::vector<std::uint32_t>, 2> halves;
  for (std::uint32_t i = 0; i < loaded.size(); ++i) halves.at(i % 2).push_back(i);
  if (adapts) out.known.append(loaded, halves[0]);
  out.asked.append(loaded, halves[1]);
  return out;
}

}  // namespace furlong::federated
