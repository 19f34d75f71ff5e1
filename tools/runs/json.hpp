// The machine-readable outputs: one round, one event, the summary.
#pragma once

#include "federated/rounds/run_observer.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

/// {"validation": ..., "seen": ..., "unseen": ...}, those that apply.
[[nodiscard]] json to_json(const federated::evaluation_report& report);
/// A line of metrics.jsonl, without "eval". Times are virtual seconds; runs under the real clock have none.
[[nodiscard]] json to_json(const federated::round_report& report);
/// A line of events.jsonl, without wall times.
[[nodiscard]] json to_json(const federated::run_event& event);

/// A client with stored private values.
struct private_holder {
  std::uint32_t client = 0;
  std::uint64_t rounds = 0;  ///< since its value was committed
};

/// The private store's part of the summary.
struct private_facts {
  std::string sha256;
  std::uint64_t clients = 0;
  std::vector<private_holder> holders;  ///< by client
};
[[nodiscard]] result<private_facts> read_private_facts(federated::private_store& store, std::uint64_t server_version);

/// The peak memory of this process.
[[nodiscard]] std::uint64_t peak_rss_bytes();
/// summary.json. Accounts for every task: in_flight counts the open tasks and is not derived from the other figures.
[[nodiscard]] json summary_json(const prepared_run& run, const federated::run_outcome& outcome,
                                const private_facts& own);

}  // namespace furlong::tools
