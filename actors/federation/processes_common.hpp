// Shared by the assemblies of the processes.
#pragma once

#include <future>
#include <mutex>
#include <spdlog/spdlog.h>

#include "actors/federation/admission_control.hpp"
#include "actors/federation/gateway.hpp"
#include "actors/federation/processes.hpp"
#include "actors/net/connector.hpp"
#include "actors/net/listener.hpp"

namespace furlong::actors::federation {

/// Passes the sessions of a listener to the current gateway, which owns them.
class session_router {
 public:
  explicit session_router(std::shared_ptr<admission_control> admission) : admission_(std::move(admission)) {}
  void set(gateway_actor to) {
    const std::lock_guard lock(mutex_);
    to_ = std::move(to);
  }
  /// Events of a new channel; without a gateway it is closed. `trusted`: the peer has an operator certificate.
  net::channel_events open(const net::channel_ptr& opened, bool trusted = false);

 private:
  const std::shared_ptr<admission_control> admission_;
  std::mutex mutex_;
  gateway_actor to_;
  std::atomic<protocol::session_number> last_{0};
};

/// Passes the links of an operator port to the current parent, which owns them.
class link_router {
 public:
  /// `nodes`: for nodes at the operator port.
  explicit link_router(session_router& nodes) : nodes_(nodes) {}
  void set(const std::shared_ptr<const federation_context>& run, parent_actor to);
  void shut() { set(nullptr, {}); }
  /// Events of a new link; without a parent it is closed.
  net::channel_events open(const net::channel_ptr& opened);

 private:
  session_router& nodes_;
  std::mutex mutex_;
  bool takes_nodes_ = false;  ///< network.trust = "operator"
  parent_actor to_;
  protocol::session_number last_ = 0;
};

/// Events of a channel that go to an actor under a number.
net::channel_events events_for(const session_events& to, protocol::session_number number);

/// How a process connects to gateways, or to operator ports.
struct link_setup {
  net::transport& on;
  std::optional<net::tls_context> tls;  ///< nullopt: plain TCP
  net::channel_settings settings;
};

/// Opens a connection. `to` receives its events, and its failure as session_closed, under the number of the attempt,
/// and owns the channel.
void open_link(const link_setup& setup, const session_events& to, const net::host_port& at,
               protocol::session_number attempt);

/// Receives the outcome of a process: why it ended, or an error.
using over_hook = std::function<void(const std::string& why, const std::optional<error>& failure)>;

/// The outcome of a process: reported by its main actor before it ends, or the exception that ended that actor.
class process_end {
 public:
  /// For the actor. Called at most once.
  over_hook hook();
  /// Waits for the actor's end. An actor that ended without an outcome is an error (kind runtime).
  template <class Actor>
  result<std::string> wait(caf::actor_system& system, const Actor& actor, const char* who) {
    caf::scoped_actor self(system);
    self->monitor(actor);
    self->receive([&](const caf::down_msg& down) {
      if (!outcome_) outcome_ = fail(error::kind::runtime, who, "its actor ended: " + caf::to_string(down.reason));
    });
    return *outcome_;
  }

 private:
  std::optional<result<std::string>> outcome_;  // by the actor before it ends
};

/// Times and limits of node channels.
net::channel_settings channel_settings_of(double heartbeat, double timeout, std::uint64_t max_message);

/// How long a link between an operator's processes sends what is queued when it is closed.
inline constexpr std::chrono::milliseconds link_linger{2000};

/// The same for links between an operator's processes, which carry models and partial aggregates.
net::channel_settings link_settings_of(double heartbeat, double timeout, std::uint64_t max_message);

/// The files of a tier.
[[nodiscard]] inline net::tls_paths paths_of(const tls::tier_credentials& tier) {
  return {tier.certificate, tier.key, tier.authority};
}

/// The context with which a process connects to operator ports; none without certificates.
result<std::optional<net::tls_context>> operator_context(const std::optional<tls::operator_credentials>& credentials);

/// Ports of a process that has an operator port beside its gateway's.
inline constexpr std::size_t ports_with_operator = 2;

/// Options of a gateway's listener: its channels, and memory for so many bytes of frames at once, or for the longest.
/// `ports`: how many of the process share its limit on open files
net::listener_settings listener_settings_of(const net::channel_settings& channel, std::size_t room, std::size_t ports);
/// The same for the nodes of a run. `most`: upper bound of that memory
net::listener_settings listener_settings_of(const federated::experiment& e, std::size_t clients, std::size_t most,
                                            std::size_t ports);
/// The same for the operator port of a run, where nodes may join as well.
net::listener_settings link_listener_settings_of(const federated::experiment& e, std::size_t clients, std::size_t most);

/// Admission control of a process, with the deny list of its credentials, if any.
result<std::shared_ptr<admission_control>> make_admission_control(
    const std::optional<tls::operator_credentials>& credentials);

/// The gateway's listener. `router` must outlive it.
result<std::unique_ptr<net::listener>> open_gateway(net::transport& on, const net::host_port& at,
                                                    const std::optional<tls::operator_credentials>& credentials,
                                                    const std::shared_ptr<admission_control>& admission,
                                                    const net::listener_settings& how, session_router& router);

/// The operator port: its peers are any with a certificate of the operator that is not on the deny list. `router` must
/// outlive the transport.
result<std::unique_ptr<net::listener>> open_operator_port(net::transport& on, const net::host_port& at,
                                                          const std::optional<tls::operator_credentials>& credentials,
                                                          const std::shared_ptr<admission_control>& admission,
                                                          const net::listener_settings& how, link_router& router);

/// Logs the counts at the end.
void log_refusals(const admission_control& admission);

/// The clients that a certificate names; empty without certificates.
clients_of_certificate clients_by_certificate(bool tls);

/// Of the actors of a process.
void configure_system(caf::actor_system_config& config, std::size_t threads);

}  // namespace furlong::actors::federation
