// Events of a scenario.
#pragma once

#include <cstdint>

namespace furlong::federated {

enum class event_kind : std::uint8_t { join, leave, kill, restart, partition, heal, unresponsive };
/// The target of an event: clients, or processes of a simulated federation.
enum class event_target : std::uint8_t { clients, nodes, aggregators };
/// [[event]]: something happens to some clients or processes.
struct event_settings {
  bool at_round = false;    ///< else at a time
  std::uint64_t round = 0;  ///< before this round begins, counted from 1
  double seconds = 0.0;
  event_kind what = event_kind::leave;
  event_target target = event_target::clients;
  std::uint32_t first = 0;  ///< clients or processes first to last, when share is 0
  std::uint32_t last = 0;
  double share = 0.0;  ///< this share of all clients, drawn by the event's place in the file
  bool erase = false;  ///< leave: their private values are erased
};

}  // namespace furlong::federated
