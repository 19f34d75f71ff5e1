// The gateway actor: lets nodes in, gives them models and tasks, folds their updates, tells its parent.
#pragma once

#include <deque>
#include <functional>

#include "actors/federation/admission_control.hpp"
#include "actors/federation/interfaces.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

/// The clients that a certificate's common name allows; nothing: it is not a node's name.
using clients_of_certificate = std::function<std::optional<protocol::client_range>(const std::string& name)>;

/// What a gateway does beside its machine's work.
struct gateway_options {
  std::uint32_t number = 0;  ///< as the parent knows it
  /// Empty: there are no certificates, and any clients are believed.
  clients_of_certificate clients_of = {};
  std::shared_ptr<admission_control> admission = {};  ///< required
};

/// The shell round gateway_machine.
struct gateway_state {
  struct session {
    net::channel_ptr channel;
    bool trusted = false;  ///< came in at the operator port: any clients are believed
    bool greeted = false;
    bool welcomed = false;      ///< said hello, and stays here
    bool open = false;          ///< is ready: its clients are reached here
    std::uint64_t covered = 0;  ///< checkpoint that it was told of with its welcome
    protocol::hello hello;
    std::deque<std::uint64_t> models;  ///< versions that the node has, oldest first
  };

  std::shared_ptr<const federation_context> run;
  gateway_options options;
  parent_actor parent;
  protocol::welcome welcome;
  std::optional<protocol::gateway_machine> machine;
  std::optional<wire::decoder> decoder;
  std::map<protocol::session_number, session> sessions;
  federated::client_update update;
  federated::virtual_time looks_at = 0;  ///< when nodes are held against the deny list again
  bool leaving = false;                  ///< the run is over: ends once its nodes have closed their sessions
  bool over = false;

  gateway_state() = default;
  gateway_state(const gateway_state&) = delete;
  gateway_state& operator=(const gateway_state&) = delete;
  /// Nobody would answer sessions whose gateway an exception ended.
  ~gateway_state() {
    for (auto& [number, node] : sessions)
      if (node.channel) node.channel->close();
  }
};

gateway_actor::behavior_type gateway_behavior(gateway_actor::stateful_pointer<gateway_state> self,
                                              std::shared_ptr<const federation_context> run, parent_actor parent,
                                              protocol::welcome welcome, gateway_options options);

}  // namespace furlong::actors::federation
