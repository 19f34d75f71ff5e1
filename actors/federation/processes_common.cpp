#include "actors/federation/processes_common.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "federated/settings/network.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

namespace {

template <class Actor>
net::channel_events make_events(const Actor& to, protocol::session_number number) {
  return {[to, number](net::received frame) {
            caf::anon_send(to, session_frame{number, std::make_shared<net::received>(std::move(frame))});
          },
          [to, number](const error& why) {
            caf::anon_send(to, session_closed{number, why.text()});
          }};
}

/// What to check when a connection failed so; empty: the reason says it.
const char* remedy_of(net::failure_cause cause) {
  switch (cause) {
    case net::failure_cause::refused: return "check that the port is open there";
    case net::failure_cause::timed_out: return "check that this port is open there, and that both sides use TLS";
    case net::failure_cause::protocol: return "check the port, and that both sides use TLS";
    case net::failure_cause::untrusted:
    case net::failure_cause::expired: return "check that both sides have valid certificates of one authority";
    case net::failure_cause::wrong_host: return "issue it with --host for every address by which others connect";
    default: return "";
  }
}

}  // namespace

net::channel_events events_for(const session_events& to, protocol::session_number number) {
  return make_events(to, number);
}

void open_link(const link_setup& setup, const session_events& to, const net::host_port& at,
               protocol::session_number attempt) {
  net::connect_events events;
  events.on_open = [to, attempt](net::channel_ptr channel) {
    caf::anon_send(to, session_opened{attempt, net::owned(std::move(channel))});
    return events_for(to, attempt);
  };
  events.on_failed = [to, attempt](const net::connect_failure& failed) {
    const bool denied = failed.cause == net::failure_cause::rejected && failed.what.reason.ends_with(tls::denied_text);
    auto why = failed.what;
    why.fix = remedy_of(failed.cause);
    caf::anon_send(to, session_closed{attempt, why.text(), denied});
  };
  net::connect(setup.on, at, setup.tls, setup.settings, nullptr, std::move(events));
}

over_hook process_end::hook() {
  return [this](const std::string& why, const std::optional<error>& failure) {
    if (failure)
      outcome_ = tl::unexpected(*failure);
    else
      outcome_ = why;
  };
}

net::channel_events session_router::open(const net::channel_ptr& opened, bool trusted) {
  const auto channel = net::owned(opened);
  // Locked until the gateway has the message: a gateway removed by set() receives the channel before its close notice
  // and closes it. Otherwise the node would wait indefinitely.
  const std::lock_guard lock(mutex_);
  if (!to_) return {[](net::received) {}, [](const error&) {}};
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
  std::weak_ptr<net::channel> channel;  ///< the parent owns it: when that ends by an exception, the link closes
  session_router* nodes;
  net::channel_events to;
  bool is_decided = false;
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
void decide(pending_link& link, const net::received& first) {
  const auto channel = link.channel.lock();
  if (!channel || !is_hello(first)) return;
  if (link.nodes == nullptr) {
    link.to.on_frame = [](net::received) {};
    return refuse_node(channel);
  }
  auto parent = std::exchange(link.to, link.nodes->open(channel, true));
  parent.on_closed(error{error::kind::runtime, "", "", ""});  // without a reason: it is no aggregator
}

/// Events of a newly opened link. Its first frame decides: with a node's hello the link becomes a session of the
/// gateway behind `nodes`, for any clients; or, if `nodes` is null, the node is rejected for good. Everything else goes
/// to the parent.
/// @param parent has received session_opened
/// @param nodes outlives the channel
net::channel_events operator_link_events(net::channel_events parent, const net::channel_ptr& channel,
                                         session_router* nodes) {
  const auto link = std::make_shared<pending_link>(pending_link{channel, nodes, std::move(parent)});
  return {[link](net::received frame) {
            if (!std::exchange(link->is_decided, true)) decide(*link, frame);
            link->to.on_frame(std::move(frame));
          },
          [link](const error& why) { link->to.on_closed(why); }};
}

}  // namespace

void link_router::set(const std::shared_ptr<const federation_context>& run, parent_actor to) {
  const std::lock_guard lock(mutex_);
  takes_nodes_ = run && run->e.settings.network->operator_trust;
  to_ = std::move(to);
}

net::channel_events link_router::open(const net::channel_ptr& opened) {
  const auto channel = net::owned(opened);
  const std::lock_guard lock(mutex_);
  if (!to_) return {[](net::received) {}, [](const error&) {}};
  const auto number = ++last_;
  caf::anon_send(to_, session_opened{number, channel, true});
  return operator_link_events(make_events(to_, number), channel, takes_nodes_ ? &nodes_ : nullptr);
}

net::channel_settings channel_settings_of(double heartbeat, double timeout, std::uint64_t max_message) {
  net::channel_settings settings;
  settings.heartbeat = std::chrono::milliseconds(static_cast<std::int64_t>(heartbeat * 1000));
  settings.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
  settings.max_message = max_message;
  settings.max_queued = std::max<std::size_t>(settings.max_queued, 4 * max_message);
  return settings;
}

net::channel_settings link_settings_of(double heartbeat, double timeout, std::uint64_t max_message) {
  auto settings = channel_settings_of(heartbeat, timeout, max_message);
  settings.max_queued = std::size_t{1} << 30U;
  settings.linger = link_linger;
  settings.turn = std::chrono::minutes(10);  // of a partial aggregate over a slow line
  return settings;
}

result<std::optional<net::tls_context>> operator_context(const std::optional<tls::operator_credentials>& credentials) {
  if (!credentials) return std::nullopt;
  return net::tls_context::for_operator_client(paths_of(credentials->operator_tier)).map([](net::tls_context made) {
    return std::optional(std::move(made));
  });
}

result<std::shared_ptr<admission_control>> make_admission_control(
    const std::optional<tls::operator_credentials>& credentials) {
  if (!credentials) return std::make_shared<admission_control>();
  auto denied = tls::deny_list::load(credentials->deny);
  if (!denied) return tl::unexpected(denied.error());
  return std::make_shared<admission_control>(std::move(*denied));
}

namespace {

/// Connections of one of so many ports that the limit on open files allows, in addition to the other files of the
/// process.
std::size_t connections_by_files(std::size_t ports) {
  constexpr rlim_t others = 48;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return others / ports;
  return std::max<rlim_t>(files.rlim_cur > others ? (files.rlim_cur - others) / ports : 0, 1);
}

}  // namespace

net::listener_settings listener_settings_of(const net::channel_settings& channel, std::size_t room, std::size_t ports) {
  net::listener_settings how;
  how.channel = channel;
  how.limits.connections = std::min(how.limits.connections, connections_by_files(ports));
  how.room = net::budget::make(std::max<std::size_t>(room, channel.max_message));
  return how;
}

net::listener_settings listener_settings_of(const federated::experiment& e, std::size_t clients, std::size_t most,
                                            std::size_t ports) {
  const auto& network = *e.settings.network;
  auto channel = channel_settings_of(network.heartbeat, network.timeout, longest_node_frame(e, clients));
  channel.max_first = longest_hello(e, clients);
  return listener_settings_of(channel, upload_room(e, most), ports);
}

net::listener_settings link_listener_settings_of(const federated::experiment& e, std::size_t clients,
                                                 std::size_t most) {
  const auto& network = *e.settings.network;
  auto channel = link_settings_of(network.heartbeat, network.timeout, network.max_message);
  channel.max_first = longest_hello(e, clients);
  return listener_settings_of(channel, upload_room(e, most), ports_with_operator);
}

namespace {

/// A listener with the certificates of a tier; null: without TLS.
result<std::unique_ptr<net::listener>> open_listener(net::transport& on, const net::host_port& at,
                                                     const tls::tier_credentials* tier,
                                                     const std::shared_ptr<admission_control>& admission,
                                                     const net::listener_settings& how, net::listener_events events) {
  std::optional<net::tls_context> context;
  if (tier != nullptr) {
    auto made = net::tls_context::for_server(paths_of(*tier));
    if (!made) return tl::unexpected(made.error());
    context = std::move(*made);
  }
  events.on_refused = [admission](const net::peer& who, const net::connect_failure& why) {
    admission->refused(who, why);
  };
  return net::listener::open(on, at, std::move(context), how, std::move(events));
}

}  // namespace

result<std::unique_ptr<net::listener>> open_gateway(net::transport& on, const net::host_port& at,
                                                    const std::optional<tls::operator_credentials>& credentials,
                                                    const std::shared_ptr<admission_control>& admission,
                                                    const net::listener_settings& how, session_router& router) {
  net::listener_events events;
  events.on_open = [&router](const net::channel_ptr& channel) { return router.open(channel); };
  events.accept_peer = [admission](const net::peer& who) { return admission->judge(who); };
  return open_listener(on, at, credentials ? &credentials->gateway : nullptr, admission, how, std::move(events));
}

result<std::unique_ptr<net::listener>> open_operator_port(net::transport& on, const net::host_port& at,
                                                          const std::optional<tls::operator_credentials>& credentials,
                                                          const std::shared_ptr<admission_control>& admission,
                                                          const net::listener_settings& how, link_router& router) {
  net::listener_events events;
  events.on_open = [&router](const net::channel_ptr& channel) { return router.open(channel); };
  // The names of its peers' certificates are not those of nodes.
  events.accept_peer = [admission](const net::peer& who) -> std::optional<std::string> {
    admission->refresh();
    if (!admission->denies(who)) return std::nullopt;
    return std::string(tls::denied_text);
  };
  return open_listener(on, at, credentials ? &credentials->operator_tier : nullptr, admission, how, std::move(events));
}

void log_refusals(const admission_control& admission) {
  if (const auto text = admission.counts().text(); !text.empty()) spdlog::info("rejected at the gateway: {}", text);
}

clients_of_certificate clients_by_certificate(bool tls) {
  if (!tls) return {};
  return [](const std::string& name) -> std::optional<federated::client_range> {
    const auto who = tls::parse_common_name(name);
    if (!who) return std::nullopt;
    return who->clients;
  };
}

void configure_system(caf::actor_system_config& config, std::size_t threads) {
  config.add_message_types<caf::id_block::furlong>();
  config.add_message_types<caf::id_block::furlong_federation>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("logger.verbosity", caf::atom("quiet"));
  config.set("scheduler.max-threads", threads);
}

}  // namespace furlong::actors::federation
