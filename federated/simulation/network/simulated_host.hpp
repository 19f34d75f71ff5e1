// Hosts a role (federated/processes) in a simulated process: its sessions are links, its clock is virtual.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "federated/processes/surroundings.hpp"
#include "federated/simulation/network/link.hpp"

namespace furlong::federated::network {

/// Calls a function after a while.
using scheduler = std::function<void(virtual_time, std::function<void()>)>;

/// @tparam Surroundings processes::surroundings, or what a role asks beyond them
template <class Surroundings>
class simulated_host : public Surroundings {
 public:
  simulated_host(fabric& net, scheduler later) : net_(net), later_(std::move(later)) {}

  [[nodiscard]] virtual_time now() const override { return net_.clock.now(); }
  void wake(virtual_time instant) override {
    later_(instant - now(), [this] { on_wake(); });
  }
  void send(protocol::session_number session, protocol::control content) override {
    std::visit([&](auto& kind) { put(session, message(std::move(kind))); }, content);
  }
  [[nodiscard]] bool send(protocol::session_number session, const broadcast_ptr& model) override {
    put(session, model);
    return true;
  }
  void send(protocol::session_number session, const partial_ptr& partial) override { put(session, partial); }
  void close(protocol::session_number session) override {
    const auto found = ports_.find(session);
    if (found == ports_.end()) return;
    found->second.close();
    ports_.erase(found);
  }
  void admitted(protocol::session_number) override {}
  void log(processes::log_level, const std::string&) override {}

  // What not every role asks for.
  void connect(protocol::session_number, const std::string&) override { throw std::logic_error("opens no sessions"); }
  void send(protocol::session_number, const processes::outgoing_update_ptr&) override {
    throw std::logic_error("sends no updates");
  }
  void send_dropped(protocol::session_number, const task_id&, drop_stage) override {
    throw std::logic_error("has no clients");
  }

 protected:
  virtual void on_wake() = 0;
  virtual void on_arrival(protocol::session_number session, message&& content) = 0;
  virtual void on_end(protocol::session_number session) = 0;

  /// A session over this side of a link, whose events come from now on. Returns its number.
  protocol::session_number open(const port& side) {
    open(++last_, side);
    return last_;
  }
  /// The same under a number that the role chose.
  void open(protocol::session_number session, const port& side) {
    ports_[session] = side;
    auto& events = side.through->side(side.side);
    events.on_message = [this, session](message&& content) { on_arrival(session, std::move(content)); };
    events.on_closed = [this, session] {
      ports_.erase(session);
      on_end(session);
    };
  }
  void put(protocol::session_number session, message content) {
    if (const auto found = ports_.find(session); found != ports_.end()) found->second.send(std::move(content));
  }

 private:
  fabric& net_;
  scheduler later_;
  std::map<protocol::session_number, port> ports_;
  protocol::session_number last_ = 0;
};

}  // namespace furlong::federated::network
