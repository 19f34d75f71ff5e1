// What a node answers that keeps to the protocol and does not train.
#pragma once

#include "federated/protocol/client_sizes.hpp"
#include "federated/protocol/messages.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "tests/processes/frame_session.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tests {

/// The run that a node is welcomed to, without data. Throws std::runtime_error.
[[nodiscard]] inline federated::experiment experiment_of(const federated::protocol::welcome& got) {
  return must(tools::open_without_data(must(scenarios::parse_node_scenario(got.scenario)), got.facts));
}

/// What a node declares of its clients in a run whose data are not read from files. Throws std::runtime_error.
[[nodiscard]] inline std::vector<federated::protocol::client_sizes> sizes_in(const federated::protocol::welcome& got,
                                                                             const federated::client_range& clients) {
  const auto opened = must(tools::open_prepared_run(must(scenarios::parse_node_scenario(got.scenario)),
                                                    tools::clients_are::on_nodes, clients));
  return federated::protocol::sizes_of(opened.experiment, clients);
}

/// No scores for any of the clients asked for, so that the server waits for none.
[[nodiscard]] inline federated::protocol::evaluation_scores no_scores(
    const federated::protocol::evaluation_request& wanted) {
  federated::protocol::evaluation_scores none{wanted.version, {}};
  for (const auto& [in, client] : wanted.clients) none.each.push_back({in, client, {}});
  return none;
}

}  // namespace furlong::tests
