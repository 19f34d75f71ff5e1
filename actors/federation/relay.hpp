// The relay actor of an aggregator: hosts its role (federated/processes/relay_role.hpp) between its parent and its
// children, which are its own gateway and other aggregators.
#pragma once

#include <optional>

#include "actors/federation/child_sessions.hpp"
#include "actors/federation/interfaces.hpp"
#include "federated/processes/relay_role.hpp"

namespace furlong::actors::federation {

struct relay_state;
using relay_pointer = relay_actor::stateful_pointer<relay_state>;

/// What a relay's role asks of its actor.
class relay_host final : public processes::relay_surroundings {
 public:
  relay_host(relay_pointer self, std::shared_ptr<const federation_context> run, upward_actor up,
             protocol::welcome content);

  [[nodiscard]] processes::relay_role& role() { return role_; }
  [[nodiscard]] child_sessions& sessions() { return sessions_; }
  /// Its own gateway.
  void use(gateway_actor gateway);
  /// After the other actor's last messages.
  void on_down(const caf::down_msg& down);

  [[nodiscard]] processes::children& known() override { return sessions_.known(); }
  void tell_parent(upward&& content) override;
  void tell_gateway(downward&& content) override;
  void violated(std::uint32_t child, const std::string& reason) override;
  void fail_run(const error& reason) override;
  void end(const protocol::close_notice& notice) override;
  void log(processes::log_level level, const std::string& text) override { write(level, text); }

 private:
  relay_pointer self_;
  std::shared_ptr<const federation_context> run_;
  upward_actor up_;
  std::uint32_t number_;
  gateway_actor gateway_;
  processes::relay_role role_;
  child_sessions sessions_;
};

struct relay_state {
  std::optional<relay_host> host;
};

/// Lives until the parent's close notice; if that is the end of the run, until its children have ended. `content`: the
/// parent's welcome, with the number of its messages to `up`.
relay_actor::behavior_type relay_behavior(relay_pointer self, std::shared_ptr<const federation_context> run,
                                          upward_actor up, protocol::welcome content);

}  // namespace furlong::actors::federation
