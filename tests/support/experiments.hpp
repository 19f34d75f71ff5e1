// Experiments for tests: assembled in one call.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/experiment/pooled_population.hpp"
#include "federated/ranking/figures.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/world/world.hpp"

namespace furlong::tests {

/// A model's options that are not at their defaults.
using option_list = std::vector<std::pair<std::string, option_value>>;

/// A run over `clients`; what the settings call centralized trains on all of them pooled.
/// @param kind of the model; empty: what fits the clients' labels
[[nodiscard]] inline federated::experiment make_experiment(const federated::run_settings& settings,
                                                           std::shared_ptr<const federated::population> clients,
                                                           const option_list& options,
                                                           const std::vector<std::string>& private_names,
                                                           std::string_view kind = {}) {
  federated::experiment e;
  e.run = 4711;
  e.settings = settings;
  const auto facts = clients->facts();
  if (kind.empty()) kind = facts.labels == models::objective::logistic ? "logistic-regression" : "matrix-factorization";
  const auto* entry = models::find_model(kind);
  auto values = defaults(entry->options);
  if (facts.labels != models::objective::logistic) values.set("rank", std::int64_t{4});
  for (const auto& [name, value] : options) values.set(name, value);
  auto built = entry->build(values, facts);
  if (!built) throw std::invalid_argument(built.error().text());
  const bool ranks = facts.labels == models::objective::ranking;
  e.model = ranks ? federated::ranking::rank_by(*built, settings.evaluation->ranking) : *built;
  if (auto done = federated::lay_out(e, private_names); !done) throw std::invalid_argument(done.error().text());
  e.clients = clients;
  e.participants = settings.algorithm->traits.sends ? clients : federated::pool_clients(clients);
  e.upload_bytes = [](const federated::client_update& update) { return 4 * update.change.values.size(); };
  e.download_bytes = 4 * e.parts.down->size();
  return e;
}

/// An experiment with a world around it.
[[nodiscard]] inline federated::experiment in_a_world(federated::experiment e) {
  e.settings.clock = federated::clock_kind::simulated;
  e.around = federated::make_world(e.settings, *e.participants, nullptr);
  e.planned_upload_bytes = [bytes = 4 * e.parts.shared->size()](std::uint32_t) { return bytes; };
  return e;
}

/// Equality of every bit, so that 0 and -0 differ and a NaN equals itself.
[[nodiscard]] inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace furlong::tests
