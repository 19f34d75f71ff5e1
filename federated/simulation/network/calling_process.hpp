// A simulated process whose role opens sessions, one at a time: hosts it on links of the simulated network.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "federated/processes/surroundings.hpp"
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

/// @tparam Surroundings what the role asks for: surroundings, and what is beyond them
template <class Surroundings>
class calling_process : public process, protected Surroundings {
 protected:
  using session_number = protocol::session_number;
  using process::process;

  /// The role hears of them.
  virtual void on_woken() = 0;
  virtual void on_opened(session_number session) = 0;
  virtual void on_ended(session_number session) = 0;
  virtual void on_arrival(session_number session, message&& content) = 0;

  [[nodiscard]] virtual_time now() const override { return process::now(); }
  void wake(virtual_time instant) override {
    at(instant, [this] { on_woken(); });
  }
  void connect(session_number session, const std::string& address) override {
    number_ = session;
    session_ = {};
    const auto lose = [this, session] { on_ended(session); };
    process::connect(
        host_of(address),
        [this, session, lose](const link_ptr& through) {
          if (session != number_) return through->close(0);
          session_ = {through, 0};
          through->side(0).on_message = [this, session](message&& content) { on_arrival(session, std::move(content)); };
          through->side(0).on_closed = lose;
          on_opened(session);
        },
        lose);
  }
  void send(session_number session, protocol::control content) override {
    transmit(session,
             std::visit([](auto&& kind) { return message(std::forward<decltype(kind)>(kind)); }, std::move(content)));
  }
  [[nodiscard]] bool send(session_number session, const broadcast_ptr& model) override {
    transmit(session, model);
    return true;
  }
  void send(session_number session, const partial_ptr& partial) override { transmit(session, partial); }
  void close(session_number session) override {
    if (session == number_) session_.close();
  }
  void admitted(session_number) override {}
  void log(processes::log_level, const std::string&) override {}

  void transmit(session_number session, message content) {
    if (session == number_) session_.send(std::move(content));
  }
  /// Ends the newest session.
  void hang_up() { session_.close(); }

 private:
  session_number number_ = 0;  ///< of the newest session
  port session_;
};

}  // namespace furlong::federated::network
