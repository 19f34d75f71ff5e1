// A simulated process whose role opens sessions: hosts it on links to the processes that it calls.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "federated/simulation/network/processes.hpp"
#include "federated/simulation/network/simulated_host.hpp"

namespace furlong::federated::network {

/// @tparam Surroundings what the role asks for: surroundings, and what is beyond them
template <class Surroundings>
class calling_process : public process, protected simulated_host<Surroundings> {
 protected:
  using session_number = protocol::session_number;
  using process::now;

  calling_process(shared_world& world, host place)
      : process(world, place),
        simulated_host<Surroundings>(
            world.net, [this](virtual_time wait, std::function<void()> then) { after(wait, std::move(then)); }) {}

  /// A session that the role opens is open.
  virtual void on_opened(session_number session) = 0;

  void connect(session_number session, const std::string& address) override {
    process::connect(
        host_of(address),
        [this, session](const link_ptr& through) {
          this->open(session, {through, 0});
          on_opened(session);
        },
        [this, session] { this->on_end(session); });
  }
};

}  // namespace furlong::federated::network
