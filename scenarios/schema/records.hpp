// Repeated tables: [[event]] and [[devices.classes]].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::scenarios {

/// A repeated table.
struct record_spec {
  std::string name;   ///< dotted: "devices.classes"
  std::string after;  ///< the table before it in the documentation
  std::string doc;
  std::vector<option_spec> options;
  std::vector<std::string> or_share;  ///< text options that may also be a number
  /// Copies all of them to the settings.
  std::function<void(federated::run_settings&, const std::vector<option_values>&)> apply;
};

/// All of them, in the order of the documentation.
[[nodiscard]] const std::vector<record_spec>& schema_records();

/// Time of an event: before a round (from 1), or a virtual time.
struct event_time {
  bool at_round = false;
  std::uint64_t round = 0;
  double seconds = 0.0;
};
/// Reads "round 10", "120s", "30min", "2h" or "1.5d".
[[nodiscard]] std::optional<event_time> parse_event_time(std::string_view text);

/// The target of an event: a range of clients, nodes or aggregators, both ends included.
struct event_subjects {
  federated::event_target target = federated::event_target::clients;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};
/// Reads "17" or "0-99" (clients), "node 2", "nodes 0-3", "aggregator 1" or "aggregators 0-1".
[[nodiscard]] std::optional<event_subjects> parse_subjects(std::string_view text);

/// The kinds of events, each a key of [[event]].
[[nodiscard]] const std::vector<std::string>& event_words();
/// The kinds in an event.
[[nodiscard]] std::vector<std::string> happenings(const option_values& event);
/// The events of checked tables.
void apply_events(federated::run_settings& settings, const std::vector<option_values>& events);

}  // namespace furlong::scenarios
