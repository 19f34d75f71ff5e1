// A scenario made ready to run: its data loaded, its model built, its parameters split.
#pragma once

#include <optional>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/protocol/messages.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

struct session {
  scenarios::scenario scenario;
  scenarios::dataset data;
  federated::experiment experiment;
};

/// Whether clients are simulated, with devices of their own under the virtual clock, or are on nodes.
enum class clients_are : std::uint8_t { simulated, on_nodes };

/// Loads the data and assembles the experiment. Fails as its parts do.
/// @param here of clients on nodes, those of this node; nothing: it is the server, which may have nobody's data
[[nodiscard]] result<session> open_session(scenarios::scenario from, clients_are where = clients_are::simulated,
                                           const std::optional<federated::protocol::client_range>& here = {});

/// The experiment without anybody's data, as an aggregator needs it: `clients` and `participants` are null.
/// @param facts of the data that the server has
[[nodiscard]] result<federated::experiment> open_without_data(const scenarios::scenario& from,
                                                              const models::data_facts& facts);

/// Prints every problem of a scenario to stderr, a line each, and returns the exit code.
int report_problems(const std::vector<scenarios::problem>& problems);

}  // namespace furlong::tools
