#include "scenarios/schema/fit_update.hpp"

#include <algorithm>
#include <bit>

#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/negatives.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/network.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

namespace {

/// Raises aggregation.max_weight to what the largest client needs, unless the scenario sets it: a client with more
/// would never be aggregated. The sums' unit follows from it, so that it stays the default where that suffices.
result<void> settle_weight(scenario& run, const federated::experiment& experiment,
                           const federated::population& clients) {
  const std::string key = "algorithm.aggregation.max_weight";
  auto& bound = run.settings.aggregation->max_weight;
  const auto& algorithm = *run.settings.algorithm;
  if (!algorithm.traits.sends || !federated::weighs_examples(*experiment.settings.aggregation, experiment.groups))
    return {};
  const auto weight_of = [&](std::uint32_t client) {
    return federated::most_weight(experiment, clients.count(client, federated::part::train));
  };
  const auto largest = std::ranges::max(clients.training(), {}, weight_of);
  const auto weight = weight_of(largest);
  if (weight <= bound) return {};
  const bool is_default = bound == federated::aggregation_settings{}.max_weight;
  const bool possible = weight <= federated::most_weight_bound;
  const auto update = "an update of client " + std::to_string(largest) + " (" + clients.client_name(largest) +
                      ") counts " + std::to_string(weight) + " examples";
  if (is_default && possible) {
    bound = std::bit_ceil(static_cast<std::uint32_t>(weight));
    run.notes.push_back(key + " is raised to " + std::to_string(bound) + ": " + update);
    return {};
  }
  return refuse(run, key,
                "is " + std::to_string(bound) + ", and " + update + ", " +
                    std::to_string(clients.count(largest, federated::part::train)) +
                    " in each epoch: it would never be aggregated",
                possible ? "set it to at least " + std::to_string(weight) + ", or remove it"
                         : "lower algorithm.client.epochs or set max_steps, divide the client (the bound is at most " +
                               std::to_string(federated::most_weight_bound) + "), or choose the rule uniform-mean");
}

}  // namespace

result<void> check_update(scenario& run, std::shared_ptr<const models::model> model, const dataset& data) {
  federated::experiment experiment;
  experiment.settings = run.settings;
  experiment.model = std::move(model);
  if (auto fits = federated::lay_out(experiment, run.private_tensors); !fits) return fits;
  if (data.whole)
    if (auto fits = settle_weight(run, experiment, *data.clients); !fits) return fits;
  const auto& up = *experiment.parts.up;
  const auto has_rows = [](const auto& spec) { return spec.index != models::row_index::none; };
  if (up.size() <= 2 * experiment.parts.shared->size() || std::ranges::none_of(up.tensors(), has_rows)) return {};
  const auto update = "an update of " + run.settings.algorithm->kind + " has ";
  if (!run.settings.network->sparse_upload) {
    run.notes.push_back(update + std::to_string(sizeof(float) * up.size()) +
                        " bytes; network.upload = \"sparse\" sends only rows that a client's examples name");
    return {};
  }
  std::size_t row = 0;
  for (const auto& spec : up.tensors()) row += spec.index == models::row_index::by_feature ? spec.cols : 0;
  auto text = update + std::to_string(sizeof(float) * row) + " bytes for each row that a client's examples name";
  if (data.whole) {
    std::uint64_t examples = 0;
    for (const auto client : data.clients->training()) examples += data.clients->count(client, federated::part::train);
    examples /= data.clients->training().size();
    text += ", " + std::to_string(sizeof(float) * row * examples) + " if it has " + std::to_string(examples) +
            " examples of different rows, which is the mean";
  }
  run.notes.push_back(text);
  return {};
}

}  // namespace furlong::scenarios
