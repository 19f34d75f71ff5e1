// Models over a session: each version is sent once, before what refers to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "federated/processes/surroundings.hpp"
#include "federated/protocol/branch_messages.hpp"

namespace furlong::federated::processes {

/// Number of versions of a model that a node or an aggregator keeps: the last ones that it received. Older ones are
/// sent again when needed.
constexpr std::size_t models_kept = 4;

/// Which versions a peer has.
class models_sent {
 public:
  /// Sends tasks, or a request for scores, after their model unless the peer has it. Nothing if that cannot be encoded.
  void send(surroundings& host, session_number session, const protocol::assign& share);
  void send(surroundings& host, session_number session, const protocol::evaluation_down& request);
  /// Any message of a parent to an aggregator.
  void send(surroundings& host, session_number session, const protocol::downward& content);

 private:
  [[nodiscard]] bool send_model(surroundings& host, session_number session, const broadcast_ptr& model);

  std::deque<std::uint64_t> versions_;  ///< oldest first
};

/// The last models that came over a session. Makes messages within a process of those that refer to them.
class models_received {
 public:
  void add(broadcast_ptr model);
  void clear() { models_.clear(); }
  /// Null: it was not sent, or too long ago.
  [[nodiscard]] broadcast_ptr find(std::uint64_t version) const;
  /// nullopt: the model is not here.
  [[nodiscard]] std::optional<protocol::assign> share_of(const protocol::assignment& message) const;
  [[nodiscard]] std::optional<protocol::evaluation_down> request_of(protocol::evaluation_request&& message) const;

 private:
  std::deque<broadcast_ptr> models_;  ///< oldest first
};

}  // namespace furlong::federated::processes
