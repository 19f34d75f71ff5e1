// The process of a simulated aggregator: hosts its uplink (federated/processes/uplink.hpp), and the relay while that is
// open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "federated/processes/uplink.hpp"
#include "federated/simulation/network/calling_process.hpp"
#include "federated/simulation/network/simulated_relay.hpp"

namespace furlong::federated::network {

class aggregator_process final : public calling_process<processes::uplink_surroundings> {
 public:
  /// `takes_others`: it has an operator port.
  aggregator_process(shared_world& in, host at, bool takes_others);
  void start();

 private:
  // What befalls its sessions.
  void on_wake() override { role_.on_wake(); }
  void on_opened(session_number session) override { role_.on_opened(session); }
  void on_arrival(session_number session, message&& content) override;
  void on_end(session_number session) override { role_.on_closed(session, {"the link ended"}); }

  // What the role asks for.
  using calling_process::send;
  void send(session_number session, const partial_ptr& partial) override;
  void prepare(const protocol::welcome& content) override;
  void open_relay(const protocol::welcome& content) override;
  void tell_relay(protocol::downward&& content) override;
  void close_relay(const protocol::close_notice& notice) override;
  void violated(const std::string& why) override { in_.around.wrong("the parent of an aggregator " + why); }
  void over(const processes::uplink_end& end) override;

  void accept(const link_ptr& through, const message& content);
  /// The action is void if the relay of that number is not open any more.
  void later(std::uint64_t relay, std::function<void()> action);

  bool takes_others_;
  processes::uplink role_;
  std::shared_ptr<simulated_relay> relay_;  ///< null: none is open
  std::uint64_t relays_ = 0;                ///< that were opened
  bool accepts_ = false;                    ///< its ports are open
};

}  // namespace furlong::federated::network
