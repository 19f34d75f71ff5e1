#include "actors/federation/processes_common.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "actors/aggregator_transport/connect.hpp"
#include "actors/federation/branch_link.hpp"
#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "federated/settings/network.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

std::string seconds_text(federated::virtual_time span) {
  const auto tenths = (span + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

net::channel_events events_for(const session_events& to, protocol::session_number number) {
  return {[to, number](net::received frame) {
            caf::anon_send(to, session_frame{number, std::make_shared<net::received>(std::move(frame))});
          },
          [to, number](const error& why) {
            caf::anon_send(to, session_closed{number, why.text()});
          }};
}

void open_link(caf::actor_system& system, const session_events& to, const net::host_port& at,
               protocol::session_number attempt, std::uint64_t max_message) {
  aggregator_transport::link_options options;
  options.max_message = max_message;
  aggregator_transport::operator_connect(
      system, {at.host, at.port}, options,
      [to, attempt](const net::channel_ptr& channel) {
        caf::anon_send(to, session_opened{attempt, channel});
        return events_for(to, attempt);
      },
      [to, attempt](const error& why) {
        caf::anon_send(to, session_closed{attempt, why.text()});
      });
}

over_hook process_end::hook() {
  return [this](const std::string& why, const std::optional<error>& failure) {
    if (failure)
      outcome_ = tl::unexpected(*failure);
    else
      outcome_ = why;
  };
}

net::channel_events session_router::open(const net::channel_ptr& channel, bool trusted) {
  // Locked until the gateway has the message: a gateway removed by set() receives the channel before its close notice
  // and closes it. Otherwise the node would wait indefinitely.
  const std::lock_guard lock(mutex_);
  if (!to_) {
    channel->close();
    return {[](net::received) {}, [](const error&) {}};
  }
  const auto number = ++last_;
  caf::anon_send(to_, session_opened{number, channel, trusted});
  auto events = events_for(session_events(to_), number);
  events.on_closed = [admission = admission_, who = channel->other(),
                      tell = std::move(events.on_closed)](const error& why) {
    if (why.what == error::kind::data) admission->record_refusal(who, admission_refusal::bad_frame, why.text());
    tell(why);
  };
  return events;
}

// ---- links at an operator port: aggregators, and with network.trust = "operator" nodes ------------------------------

namespace {

/// A link until its first frame, and the destination of its frames afterwards.
struct pending_link {
  branch_link_actor branch;
  net::channel_ptr channel;  ///< until the first frame; then the owner of the link holds it
  session_router* nodes;
  net::channel_events to;
};

bool is_hello(const net::received& frame) {
  wire::decoder control;
  const auto found = control.decode(frame.bytes());
  return found && std::holds_alternative<protocol::hello>(*found);
}

void refuse_node(const net::channel_ptr& channel) {
  const auto& other = channel->other();
  spdlog::warn("rejected node {} at {}: it connected to the operator port", other.name, other.address);
  static_cast<void>(send_control(
      *channel, protocol::close_notice{"nodes do not join at this port: use the --listen port, or set network.trust "
                                       "= \"operator\" in the scenario",
                                       true, true}));
  channel->close();
}

/// Decides the owner of the link.
void decide(pending_link& at, const net::received& first) {
  const auto channel = std::exchange(at.channel, nullptr);
  const auto branch = std::exchange(at.branch, nullptr);
  if (!is_hello(first)) return;
  if (at.nodes == nullptr) {
    at.to.on_frame = [](net::received) {};
    return refuse_node(channel);
  }
  caf::anon_send_exit(branch, caf::exit_reason::user_shutdown);
  at.to = at.nodes->open(channel, true);
}

/// Events of a newly opened link. Its first frame decides: with a node's hello the link becomes a session of the
/// gateway behind `nodes`, for any clients, and `branch` ends; or, if `nodes` is null, the node is rejected for good.
/// Everything else goes to the branch.
/// @param branch has received session_opened
/// @param nodes outlives the channel
net::channel_events operator_link_events(const branch_link_actor& branch, const net::channel_ptr& channel,
                                         session_router* nodes) {
  const auto at =
      std::make_shared<pending_link>(pending_link{branch, channel, nodes, events_for(session_events(branch), 0)});
  return {[at](net::received frame) {
            if (at->channel) decide(*at, frame);
            at->to.on_frame(std::move(frame));
          },
          [at](const error& why) {
            at->channel = nullptr;
            at->branch = nullptr;
            at->to.on_closed(why);
          }};
}

}  // namespace

void link_router::set(std::shared_ptr<const federation_context> run, parent_actor to) {
  const std::lock_guard lock(mutex_);
  run_ = std::move(run);
  to_ = std::move(to);
}

net::channel_events link_router::open(caf::actor_system& system, const net::channel_ptr& channel) {
  const std::lock_guard lock(mutex_);
  if (!run_) {
    channel->close();
    return {[](net::received) {}, [](const error&) {}};
  }
  // A branch whose parent ends meanwhile is notified.
  const auto link = system.spawn(branch_link_behavior, run_, to_);
  caf::anon_send(link, session_opened{0, channel});
  const auto& network = *run_->e.settings.network;
  channel->limit(network.max_message);
  return operator_link_events(link, channel, network.operator_trust ? &nodes_ : nullptr);
}

result<std::unique_ptr<aggregator_transport::operator_listener>> open_operator_port(caf::actor_system& system,
                                                                                    const net::host_port& at,
                                                                                    link_router& router) {
  return aggregator_transport::operator_listener::open(
      system, at.host, at.port, {},
      [&system, &router](const net::channel_ptr& channel) { return router.open(system, channel); });
}

net::channel_settings channel_settings_of(double heartbeat, double timeout, std::uint64_t max_message) {
  net::channel_settings settings;
  settings.heartbeat = std::chrono::milliseconds(static_cast<std::int64_t>(heartbeat * 1000));
  settings.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
  settings.max_message = max_message;
  settings.max_queued = std::max<std::size_t>(settings.max_queued, 4 * max_message);
  return settings;
}

result<std::shared_ptr<admission_control>> make_admission_control(
    const std::optional<tls::operator_credentials>& credentials) {
  if (!credentials) return std::make_shared<admission_control>();
  auto denied = tls::deny_list::load(credentials->deny);
  if (!denied) return tl::unexpected(denied.error());
  return std::make_shared<admission_control>(std::move(*denied));
}

namespace {

/// Connections that the limit on open files allows, in addition to the other files of the process.
std::size_t connections_by_files() {
  constexpr rlim_t others = 48;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return others;
  return files.rlim_cur > others ? files.rlim_cur - others : 1;
}

}  // namespace

net::listener_settings listener_settings_of(const net::channel_settings& channel, std::size_t room) {
  net::listener_settings how;
  how.channel = channel;
  how.limits.connections = std::min(how.limits.connections, connections_by_files());
  how.room = net::budget::make(std::max<std::size_t>(room, channel.max_message));
  return how;
}

net::listener_settings listener_settings_of(const federated::experiment& e, std::size_t clients, std::size_t most) {
  const auto& network = *e.settings.network;
  auto channel = channel_settings_of(network.heartbeat, network.timeout, longest_node_frame(e, clients));
  channel.max_first = longest_hello(e, clients);
  return listener_settings_of(channel, upload_room(e, most));
}

result<std::unique_ptr<net::listener>> open_gateway(net::transport& on, const net::host_port& at,
                                                    const std::optional<tls::operator_credentials>& credentials,
                                                    const std::shared_ptr<admission_control>& admission,
                                                    const net::listener_settings& how, session_router& router) {
  std::optional<net::tls_context> context;
  if (credentials) {
    const auto& tier = credentials->gateway;
    auto made = net::tls_context::for_server({tier.certificate, tier.key, tier.authority});
    if (!made) return tl::unexpected(made.error());
    context = std::move(*made);
  }
  net::listener_events events;
  events.on_open = [&router](const net::channel_ptr& channel) { return router.open(channel); };
  events.on_refused = [admission](const net::peer& who, const net::connect_failure& why) {
    admission->refused(who, why);
  };
  events.accept_peer = [admission](const net::peer& who) { return admission->judge(who); };
  return net::listener::open(on, at, std::move(context), how, std::move(events));
}

void log_refusals(const admission_control& admission) {
  if (const auto text = admission.counts().text(); !text.empty()) spdlog::info("rejected at the gateway: {}", text);
}

clients_of_certificate clients_by_certificate(bool tls) {
  if (!tls) return {};
  return [](const std::string& name) -> std::optional<protocol::client_range> {
    const auto who = tls::parse_common_name(name);
    if (!who) return std::nullopt;
    return who->clients;
  };
}

result<void> configure_system(caf::actor_system_config& config, std::size_t threads,
                              const std::optional<tls::operator_credentials>& credentials, bool with_links,
                              double heartbeat, double timeout) {
  config.add_message_types<caf::id_block::furlong>();
  config.add_message_types<caf::id_block::furlong_federation>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("logger.verbosity", caf::atom("quiet"));
  config.set("scheduler.max-threads", threads);
  if (!with_links) return {};
  aggregator_transport::operator_network network;
  if (credentials) {
    const auto& tier = credentials->operator_tier;
    network.tls = aggregator_transport::operator_files{tier.certificate, tier.key, tier.authority};
  }
  network.heartbeat = std::chrono::milliseconds(static_cast<std::int64_t>(heartbeat * 1000));
  network.timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>((timeout > heartbeat ? timeout : heartbeat) * 1000));
  return aggregator_transport::configure_operator(config, network);
}

}  // namespace furlong::actors::federation
