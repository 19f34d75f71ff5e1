// Membership of clients in a simulated federation, from the scenario's events.
#pragma once

#include <cstdint>
#include <vector>

#include "federated/experiment/client_set.hpp"

namespace furlong::federated {

struct event_settings;
struct run_settings;

/// Clients that an event is about: none, when it is about processes.
[[nodiscard]] client_set clients_of(const event_settings& event, std::size_t index, std::uint64_t seed,
                                    std::uint32_t clients);

/// Who joins and who leaves first: clients by their first event of joining or leaving.
struct first_events {
  client_set joining;
  client_set leaving;
};
/// The same of events before rounds, or of those at times, which nothing orders among those before rounds. Of events at
/// once the first in the file counts.
[[nodiscard]] first_events first_events_of(const run_settings& settings, bool at_rounds, std::uint32_t clients);

/// The memory of all events so far. A client whose first event of joining or leaving is a join is not there before it.
class membership {
 public:
  membership(const run_settings& settings, std::uint32_t clients);

  /// The `index`-th event happens.
  void apply(std::size_t index);
  /// In the federation, running, and connected.
  [[nodiscard]] bool present(std::uint32_t client) const {
    return !any_ || (!outside_.contains(client) && !down_.contains(client) && !cut_.contains(client));
  }
  /// Behind a partition.
  [[nodiscard]] bool cut_off(std::uint32_t client) const { return any_ && cut_.contains(client); }
  /// Selected like others, but does not respond.
  [[nodiscard]] bool unresponsive(std::uint32_t client) const { return any_ && mute_.contains(client); }
  /// All of these, ascending.
  [[nodiscard]] std::vector<std::uint32_t> unresponsive() const;

 private:
  const run_settings& settings_;
  std::uint32_t clients_;
  bool any_;
  client_set outside_;  // not joined yet, or left
  client_set down_;     // killed
  client_set cut_;      // behind a partition
  client_set mute_;     // unresponsive
};

}  // namespace furlong::federated
