// The gateway actor: admits nodes, sends them models and tasks, aggregates their updates, reports to its parent.
#pragma once

#include <deque>
#include <functional>

#include "actors/federation/admission_control.hpp"
#include "actors/federation/interfaces.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

/// The clients that a certificate's common name allows; nullopt: it is not a node's name.
using clients_of_certificate = std::function<std::optional<federated::client_range>(const std::string& name)>;

/// The gateway's options in addition to those of its machine.
struct gateway_options {
  std::uint32_t number = 0;  ///< assigned by the parent
  /// Empty: there are no certificates, and all clients are accepted.
  clients_of_certificate clients_of = {};
  std::shared_ptr<admission_control> admission = {};  ///< required
};

/// The shell around gateway_machine.
struct gateway_state {
  struct session {
    net::channel_ptr channel;
    bool trusted = false;  ///< connected at the operator port: all clients are accepted
    bool greeted = false;
    bool welcomed = false;      ///< sent its hello, and was not redirected
    bool open = false;          ///< is ready: its clients are reachable here
    std::uint64_t covered = 0;  ///< checkpoint in its welcome
    protocol::hello hello;
    std::deque<std::uint64_t> models;  ///< versions that were sent to the node, oldest first
  };

  std::shared_ptr<const federation_context> run;
  gateway_options options;
  parent_actor parent;
  protocol::welcome welcome;
  std::optional<protocol::gateway_machine> machine;
  std::optional<wire::decoder> decoder;
  std::map<protocol::session_number, session> sessions;
  federated::client_update update;
  federated::virtual_time deny_check_at = 0;  ///< time of the next check against the deny list
  bool leaving = false;                       ///< the run is over: ends after its nodes have closed their sessions
  bool over = false;
};

using gateway_pointer = gateway_actor::stateful_pointer<gateway_state>;

gateway_actor::behavior_type gateway_behavior(gateway_pointer self, std::shared_ptr<const federation_context> run,
                                              parent_actor parent, protocol::welcome welcome, gateway_options options);

}  // namespace furlong::actors::federation
