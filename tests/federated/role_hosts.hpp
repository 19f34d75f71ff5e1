// The host of a role that a test plays: notes what is asked of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "federated/processes/surroundings.hpp"

namespace furlong::tests {

/// @tparam Surroundings federated::processes::surroundings, or what a role asks beyond them
template <class Surroundings>
class noting_host : public Surroundings {
 public:
  federated::virtual_time clock = 0;
  bool can_send_models = true;
  std::vector<std::pair<std::uint64_t, federated::protocol::control>> messages;  ///< by session, in order
  std::vector<std::pair<std::uint64_t, std::uint64_t>> models;                   ///< session and version
  std::vector<std::pair<std::uint64_t, std::string>> connections;
  std::set<std::uint64_t> closed;
  std::set<std::uint64_t> admissions;
  std::vector<federated::virtual_time> wakes;

  [[nodiscard]] federated::virtual_time now() const override { return clock; }
  void wake(federated::virtual_time instant) override { wakes.push_back(instant); }
  void connect(std::uint64_t session, const std::string& address) override {
    connections.emplace_back(session, address);
  }
  void send(std::uint64_t session, federated::protocol::control message) override {
    messages.emplace_back(session, std::move(message));
  }
  [[nodiscard]] bool send(std::uint64_t session, const federated::broadcast_ptr& model) override {
    if (can_send_models) models.emplace_back(session, model->version);
    return can_send_models;
  }
  void send(std::uint64_t, const federated::processes::outgoing_update_ptr&) override {}
  void send(std::uint64_t, const federated::processes::partial_ptr&) override {}
  void send_dropped(std::uint64_t, const federated::task_id&, federated::drop_stage) override {}
  void close(std::uint64_t session) override { closed.insert(session); }
  void admitted(std::uint64_t session) override { admissions.insert(session); }
  void log(federated::processes::log_level, const std::string&) override {}

  /// The messages of a kind over a session since the last call, which others do not survive either.
  template <class Message>
  std::vector<Message> take(std::uint64_t session) {
    std::vector<Message> found;
    std::erase_if(messages, [&](auto& message) {
      if (message.first != session) return false;
      if (auto* content = std::get_if<Message>(&message.second)) found.push_back(std::move(*content));
      return true;
    });
    return found;
  }
};

}  // namespace furlong::tests
