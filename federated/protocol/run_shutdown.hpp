// How a federation's run ends: who is told last, and how long the server waits for confirmation.
#pragma once

#include <map>

#include "federated/protocol/messages.hpp"
#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::protocol {

/// Ends a run that is over, in three steps. Each lasts until it is confirmed, `patience` at most.
///  1. All clients get their verdicts: absent nodes may connect again for them.
///  2. The other aggregators are told that the run is over. An aggregator confirms by ending, once its nodes have.
///  3. The server's own gateway is told. It ends last: nodes whose aggregator was lost in step 2 connect to it.
/// Not thread-safe.
class run_shutdown {
 public:
  enum class action : std::uint8_t { wait, tell_others, tell_own_gateway, end };

  explicit run_shutdown(virtual_time patience) : patience_(patience) {}

  void begin(virtual_time now) { enter(step::verdicts, now); }
  /// True from step 2 on: a node that connects now learns that the run is over.
  [[nodiscard]] bool is_announced() const { return step_ > step::verdicts; }

  /// What to do now. Call it again after every action but wait.
  /// @param all_reached true if every client is connected, so that its verdicts were delivered
  /// @param others aggregators apart from the server's own gateway
  [[nodiscard]] action next(virtual_time now, bool all_reached, std::size_t others) {
    const bool late = now >= until_;
    switch (step_) {
      case step::none: return action::wait;
      case step::verdicts:
        if (!all_reached && !late) return action::wait;
        enter(step::others, now);
        return action::tell_others;
      case step::others:
        if ((others > 0 || !unconfirmed_.empty()) && !late) return action::wait;
        enter(step::own_gateway, now);
        return action::tell_own_gateway;
      case step::own_gateway: break;
    }
    return late ? action::end : action::wait;
  }

  /// The aggregator of these clients' node was lost before the node confirmed.
  void on_unconfirmed(client_range clients) { unconfirmed_[clients.first] = clients; }
  /// The node of these clients is connected again.
  void on_attached(client_range clients) { unconfirmed_.erase(clients.first); }

 private:
  enum class step : std::uint8_t { none, verdicts, others, own_gateway };
  void enter(step next, virtual_time now) {
    step_ = next;
    until_ = now + patience_;
  }

  virtual_time patience_;
  step step_ = step::none;
  virtual_time until_ = 0;
  std::map<std::uint32_t, client_range> unconfirmed_;  ///< by their first client
};

}  // namespace furlong::federated::protocol
