// What the assemblies of the processes share.
#pragma once

#include <future>
#include <mutex>
#include <spdlog/spdlog.h>

#include "actors/aggregator_transport/configure.hpp"
#include "actors/aggregator_transport/listener.hpp"
#include "actors/federation/admission_control.hpp"
#include "actors/federation/gateway.hpp"
#include "actors/federation/processes.hpp"
#include "actors/net/listener.hpp"

namespace furlong::actors::federation {

/// Where the sessions of a listener go: to a gateway that may change.
class gateway_door {
 public:
  explicit gateway_door(std::shared_ptr<admission_control> admission) : admission_(std::move(admission)) {}
  void set(gateway_actor to) {
    const std::lock_guard lock(mutex_);
    to_ = std::move(to);
  }
  /// Events of a new channel; without a gateway it is closed. `trusted`: the other side is the operator's.
  net::channel_events open(const net::channel_ptr& channel, bool trusted = false);

 private:
  const std::shared_ptr<admission_control> admission_;
  std::mutex mutex_;
  gateway_actor to_;
  std::atomic<protocol::session_number> last_{0};
};

/// Where the links of an operator port go: each to an actor of its own below a parent, which may change.
class branch_door {
 public:
  /// `nodes`: where nodes go that the operator trusts.
  explicit branch_door(gateway_door& nodes) : nodes_(nodes) {}
  void set(std::shared_ptr<const federation_context> run, parent_actor to);
  void shut() { set(nullptr, {}); }
  /// Events of a new link; without a parent it is closed.
  net::channel_events open(caf::actor_system& system, const net::channel_ptr& channel);

 private:
  gateway_door& nodes_;
  std::mutex mutex_;
  std::shared_ptr<const federation_context> run_;
  parent_actor to_;
};

/// The operator port. `door` must outlive it, and it must be closed before the actor system ends.
result<std::unique_ptr<aggregator_transport::operator_listener>> open_operator_port(caf::actor_system& system,
                                                                                    const net::host_port& at,
                                                                                    branch_door& door);

/// Events of a channel that go to an actor under a number.
net::channel_events events_for(const session_events& to, protocol::session_number number);

/// Opens a link to an operator port; `to` is told under the number of the attempt.
void open_link(caf::actor_system& system, const session_events& to, const net::host_port& at,
               protocol::session_number attempt, std::uint64_t max_message);

/// Told how a process ended: why, or by which error.
using over_hook = std::function<void(const std::string& why, const std::optional<error>& failure)>;

/// How a process ends: as its main actor says before it ends, or by the exception that ended that one.
class process_end {
 public:
  /// For the actor. Called once, at most.
  over_hook hook();
  /// Waits for the actor's end. Of a `who` that said nothing it is an error (kind runtime).
  template <class Actor>
  result<std::string> wait(caf::actor_system& system, const Actor& actor, const char* who) {
    caf::scoped_actor self(system);
    self->monitor(actor);
    self->receive([&](const caf::down_msg& down) {
      if (!said_) said_ = fail(error::kind::runtime, who, "its actor ended: " + caf::to_string(down.reason));
    });
    return *said_;
  }

 private:
  std::optional<result<std::string>> said_;  // by the actor before its end is told
};

/// Times and limits of node channels.
net::channel_settings channel_settings_of(double heartbeat, double timeout, std::uint64_t max_message);

/// A gateway's listener: its channels, and room for so many bytes of frames at once, or for the longest.
net::listener_settings listener_settings_of(const net::channel_settings& channel, std::size_t room);
/// The same for the nodes of a run. `most`: of the room
net::listener_settings listener_settings_of(const federated::experiment& e, std::size_t clients, std::size_t most);

/// Admission control of a process: with the deny list of its credentials, where it has any.
result<std::shared_ptr<admission_control>> make_admission_control(
    const std::optional<tls::operator_credentials>& credentials);

/// The gateway's listener. `door` must outlive it.
result<std::unique_ptr<net::listener>> open_gateway(net::transport& on, const net::host_port& at,
                                                    const std::optional<tls::operator_credentials>& credentials,
                                                    const std::shared_ptr<admission_control>& admission,
                                                    const net::listener_settings& how, gateway_door& door);

/// A line in the log, at the end.
void log_turned_away(const admission_control& admission);

/// The clients that a certificate allows; empty without certificates.
clients_of_certificate clients_by_certificate(bool tls);

result<void> configure_system(caf::actor_system_config& config, std::size_t threads,
                              const std::optional<tls::operator_credentials>& credentials, bool links, double heartbeat,
                              double timeout);

}  // namespace furlong::actors::federation
