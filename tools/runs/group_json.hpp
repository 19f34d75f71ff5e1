// A run's figures by groups of its clients (evaluation.client_groups).
#pragma once

#include <filesystem>

#include "federated/experiment/client_groups.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

/// By the group's name: its clients, their tasks and aggregated updates, those that dropped out by stage, and the final
/// evaluation of its clients. Null without groups. Participation is left out of a run that sends nothing.
/// @param events the run's events.jsonl, complete: who dropped out
[[nodiscard]] result<json> client_groups_json(const prepared_run& run, const federated::run_outcome& outcome,
                                              const std::filesystem::path& events);

/// SHA-256 in hex over the names of the groups and the group of each client.
[[nodiscard]] std::string groups_sha256(const federated::client_groups& groups);

}  // namespace furlong::tools
