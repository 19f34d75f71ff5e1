#include "federated/aggregation/attention.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace furlong::federated {

namespace {

constexpr std::size_t most_listed = 100;

}  // namespace

attention_weights attention_of(const models::layout& shared, std::span<const client_distances> all) {
  attention_weights made;
  const auto listed = std::min(all.size(), most_listed);
  for (const auto& one : all.first(listed)) made.clients.push_back(one.client);
  for (std::size_t t = 0; t < shared.count(); ++t) {
    std::vector<double> weights;
    for (const auto& one : all) weights.push_back(one.distances[t]);
    const double farthest = *std::ranges::max_element(weights);
    double total = 0.0;
    for (auto& weight : weights) total += weight = exact::exp(weight - farthest);
    tensor_attention of{shared[t].name, 0.0F, 0.0F, {}};
    for (const auto weight : weights)
      of.weights.push_back(static_cast<float>(weight / total * static_cast<double>(all.size())));
    const auto [least, most] = std::ranges::minmax(of.weights);
    of.least = least;
    of.most = most;
    of.weights.resize(listed);
    made.tensors.push_back(std::move(of));
  }
  return made;
}

}  // namespace furlong::federated
