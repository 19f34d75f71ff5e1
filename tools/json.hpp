// The machine-readable outputs: one round, one event, the summary.
#pragma once

#include <nlohmann/json.hpp>

#include "federated/engine.hpp"
#include "tools/session.hpp"

namespace furlong::tools {

using json = nlohmann::ordered_json;

[[nodiscard]] json to_json(const federated::group_metrics& metrics);
/// {"validation": ..., "seen": ..., "unseen": ...}, as they apply.
[[nodiscard]] json to_json(const federated::evaluation_report& report);
/// A line of metrics.jsonl, without "eval".
[[nodiscard]] json to_json(const federated::round_report& report);
/// The rejections of a round as lines of events.jsonl.
[[nodiscard]] std::vector<json> rejection_events(const federated::round_report& report);

/// What of the summary the private store tells.
struct private_facts {
  std::string sha256;
  std::uint64_t clients = 0;
  std::vector<std::uint64_t> staleness;  ///< rounds since each stored value was trained, ascending
};
[[nodiscard]] result<private_facts> read_private_facts(federated::private_store& store, std::uint64_t server_version);

/// summary.json.
[[nodiscard]] json summary_json(const session& of, const federated::run_outcome& outcome, const private_facts& own);

}  // namespace furlong::tools
