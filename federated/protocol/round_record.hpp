// What is told of a round: its report, the timeline of its tasks, and its events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "federated/rounds/run_observer.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated::protocol {

/// The record of the current round. What happens between the end of a round and the beginning of the next belongs to
/// the next. It decides nothing.
class round_record {
 public:
  /// @param settings must outlive the record
  explicit round_record(const run_settings& settings) : settings_(settings) {}

  /// The counts of the report are the caller's.
  [[nodiscard]] round_report& report() { return report_; }
  void add_event(run_event event) { events_.push_back(std::move(event)); }
  /// Why a client drops out, before its task is settled.
  void explain_drop(const task_id& task, drop_cause cause) { causes_[task] = cause; }
  /// A task got an outcome in the round that makes version `version` + 1.
  void add_settlement(const open_task& task, const settlement& made, virtual_time now, std::uint64_t version);
  /// True if the tasks of the round are recorded one by one.
  [[nodiscard]] bool has_timeline(std::uint64_t version) const;
  /// These tasks are in flight at the end of the round: those of the round have missed it.
  void add_in_flight(const std::vector<open_task>& tasks, std::uint64_t version);
  /// The round is abandoned, and with it all updates that it aggregated.
  void abandon(std::size_t updates, const std::string& reason, virtual_time now, std::uint64_t version);

  /// The events in the order of time, and the report; the next ones are empty.
  [[nodiscard]] std::vector<run_event> take_events();
  [[nodiscard]] round_report take_report();

 private:
  void add_span(const open_task& task, outcome ending, std::optional<virtual_time> ended_at, std::uint64_t version);
  [[nodiscard]] std::string take_cause(const task_id& task);

  const run_settings& settings_;
  round_report report_;
  std::vector<run_event> events_;
  std::map<task_id, drop_cause> causes_;  ///< of tasks that are about to be settled as dropped
};

}  // namespace furlong::federated::protocol
