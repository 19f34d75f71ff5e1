#include "tools/session.hpp"

#include <algorithm>
#include <iostream>

#include "federated/pooled_population.hpp"
#include "federated/round.hpp"
#include "wire/message.hpp"

namespace furlong::tools {

namespace {

/// Counts what would cross the network, in every mode of running.
void meter_traffic(federated::experiment& e) {
  if (e.settings.algorithm == federated::algorithm_kind::centralized) return;  // nothing is sent
  const auto format = e.settings.sparse_upload ? wire::update_format::sparse : wire::update_format::dense;
  e.upload_bytes = [format](const federated::client_update& update) {
    return static_cast<std::uint64_t>(wire::encoded_size(update, format));
  };
  const federated::broadcast model{e.run, 0, models::shared_parameters(e.parts.shared),
                                   federated::first_reference(e.settings.aggregation, e.parts.shared)};
  e.download_bytes = wire::encoded_size(model) + wire::encoded_size(federated::task_id{});
}

}  // namespace

result<session> open_session(scenarios::scenario from) {
  auto data = scenarios::load_data(from);
  if (!data) return tl::unexpected(data.error());
  if (auto fitted = scenarios::fit(from, *data); !fitted) return tl::unexpected(fitted.error());

  session made{std::move(from), std::move(*data), {}};
  auto& e = made.experiment;
  e.run = scenarios::run_id(made.scenario);
  e.settings = made.scenario.settings;
  auto model = scenarios::build_model(made.scenario, made.data.clients->facts());
  if (!model) return tl::unexpected(model.error());
  e.model = std::move(*model);
  auto parts = models::split(e.model->tensors(), made.scenario.private_tensors);
  if (!parts) return tl::unexpected(parts.error());
  e.parts = std::move(*parts);
  auto& rule = e.settings.aggregation;
  rule.max_updates = std::max(rule.max_updates, e.settings.per_round);
  e.clients = made.data.clients;
  e.participants = e.clients;
  if (e.settings.algorithm == federated::algorithm_kind::centralized) {
    e.participants = federated::pool_clients(e.clients);
    e.settings.per_round = 1;
    e.settings.aggregation.rule = federated::rule_kind::uniform_mean;  // of one
  }
  meter_traffic(e);
  return made;
}

void print_problems(const std::vector<scenarios::problem>& problems) {
  for (const auto& one : problems) std::cerr << one.text() << '\n';
}

}  // namespace furlong::tools
