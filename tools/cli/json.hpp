// The machine-readable outputs: one round, one event, the summary.
#pragma once

#include "federated/run_observer.hpp"
#include "tools/cli/figures_json.hpp"
#include "tools/cli/session.hpp"

namespace furlong::tools {

/// {"validation": ..., "seen": ..., "unseen": ...}, as they apply.
[[nodiscard]] json to_json(const federated::evaluation_report& report);
/// A line of metrics.jsonl, without "eval". Times are virtual seconds; a run under the real clock has none.
[[nodiscard]] json to_json(const federated::round_report& report);
/// A line of events.jsonl: no wall times.
[[nodiscard]] json to_json(const federated::run_event& event);

/// A client with stored private values.
struct private_holder {
  std::uint32_t client = 0;
  std::uint64_t rounds = 0;  ///< since its value was committed
};

/// What of the summary the private store tells.
struct private_facts {
  std::string sha256;
  std::uint64_t clients = 0;
  std::vector<private_holder> holders;  ///< by client
};
[[nodiscard]] result<private_facts> read_private_facts(federated::private_store& store, std::uint64_t server_version);

/// The most memory that this process has had.
[[nodiscard]] std::uint64_t peak_rss_bytes();
/// summary.json. Accounts for every task: in_flight is counted from the open tasks, not derived from the other figures.
[[nodiscard]] json summary_json(const session& of, const federated::run_outcome& outcome, const private_facts& own);

}  // namespace furlong::tools
