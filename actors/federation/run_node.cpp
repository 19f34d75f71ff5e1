#include "actors/federation/key_identity.hpp"
#include "actors/federation/message_limits.hpp"
#include "actors/federation/node.hpp"
#include "actors/federation/processes_common.hpp"
#include "actors/net/connector.hpp"
#include "actors/tls/deny_list.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

result<node_run_ptr> make_run(const node_setup& setup, const protocol::welcome& got) {
  auto made = setup.prepare(got);
  if (!made) return tl::unexpected(made.error());
  const auto& network = *made->e.settings.network;
  if (auto done = follow_kernels(network.kernels, got.kernel_level); !done) return tl::unexpected(done.error());
  const auto format = wire::format_of(network);
  const auto packing = wire::packing_of(network);
  auto sizes = protocol::sizes_of(made->e, setup.clients);
  federated::privacy::key_identity_ptr identity;
  if (made->e.settings.privacy->secure_aggregation && setup.tls) {
    auto own = make_key_identity(*setup.tls);
    if (!own) return tl::unexpected(own.error());
    identity = std::move(*own);
  }
  return std::make_shared<const node_run>(node_run{std::move(made->e), std::move(made->store), format, packing,
                                                   made->claim, std::move(made->note_served), std::move(sizes),
                                                   std::move(identity), std::move(made->confirmed)});
}

using open_session_to = decltype(node_hooks::open);

/// Opens sessions at gateways, over TLS.
open_session_to by_gateway(net::transport& transport, std::optional<net::tls_context> context,
                           const net::channel_settings& settings) {
  return [&transport, context = std::move(context), settings](const session_events& to, const std::string& address,
                                                              protocol::session_number attempt) {
    const auto at = net::parse_address(address);
    if (!at) return caf::anon_send(to, session_closed{attempt, at.error().text()});
    net::connect_events events;
    events.on_open = [to, attempt](const net::channel_ptr& channel) {
      caf::anon_send(to, session_opened{attempt, channel});
      return events_for(to, attempt);
    };
    events.on_failed = [to, attempt](const net::connect_failure& why) {
      const bool denied = why.cause == net::failure_cause::rejected && why.what.reason.ends_with(tls::denied_text);
      caf::anon_send(to, session_closed{attempt, why.what.text(), denied});
    };
    net::connect(transport, *at, context, settings, nullptr, std::move(events));
  };
}

/// Opens sessions at operator ports.
open_session_to by_operator_port(caf::actor_system& system, std::uint64_t max_message) {
  return
      [&system, max_message](const session_events& to, const std::string& address, protocol::session_number attempt) {
        const auto at = net::parse_address(address);
        if (!at) return caf::anon_send(to, session_closed{attempt, at.error().text()});
        open_link(system, to, *at, attempt, max_message);
      };
}

}  // namespace

result<std::string> run_node(const std::atomic<bool>& stop, const node_setup& setup) {
  if (auto few = check_hosted(setup.clients); !few) return tl::unexpected(few.error());
  std::optional<net::tls_context> context;
  if (setup.tls) {
    const auto& tier = setup.tls->tier;
    auto made = net::tls_context::for_client({tier.certificate, tier.key, tier.authority});
    if (!made) return tl::unexpected(made.error());
    context = std::move(*made);
  }
  const auto settings = channel_settings_of(setup.heartbeat, setup.timeout, setup.max_message);
  caf::actor_system_config config;
  // One thread in addition to the workers, so that the session is served while all of them train.
  if (auto done = configure_system(config, setup.threads + 1, setup.operator_tls, setup.at_operator_port,
                                   setup.heartbeat, setup.timeout);
      !done)
    return tl::unexpected(done.error());
  caf::actor_system system(config);
  net::transport transport;

  process_end end;
  node_hooks hooks;
  hooks.stop = &stop;
  hooks.claim = setup.claim;
  hooks.give_up = federated::from_seconds(setup.give_up);
  hooks.open = setup.at_operator_port ? by_operator_port(system, setup.max_message)
                                      : by_gateway(transport, std::move(context), settings);
  hooks.prepare = [&](const protocol::welcome& got) { return make_run(setup, got); };
  hooks.on_over = end.hook();
  net::backoff pause(random_stream(setup.clients.first, purpose::reconnect, 0, setup.clients.last));
  const auto node = system.spawn(node_behavior, setup.server.text(), std::string("furlong"), setup.clients,
                                 setup.threads, std::move(pause), std::move(hooks));
  auto why = end.wait(system, node, "the node");
  system.await_all_actors_done();
  return why;
}

}  // namespace furlong::actors::federation
