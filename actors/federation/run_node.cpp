#include "actors/federation/key_identity.hpp"
#include "actors/federation/message_limits.hpp"
#include "actors/federation/node.hpp"
#include "actors/federation/processes_common.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

result<node_run_ptr> make_run(const node_setup& setup, const protocol::welcome& got) {
  auto made = setup.prepare(got);
  if (!made) return tl::unexpected(made.error());
  const auto& network = *made->e.settings.network;
  if (auto done = processes::follow_kernels(network.kernels, got.kernel_level); !done)
    return tl::unexpected(done.error());
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

/// The context with which a node connects to gateways; none without certificates.
result<std::optional<net::tls_context>> node_context(const std::optional<tls::node_credentials>& credentials) {
  if (!credentials) return std::nullopt;
  return net::tls_context::for_client(paths_of(credentials->tier)).map([](net::tls_context made) {
    return std::optional(std::move(made));
  });
}

}  // namespace

result<std::string> run_node(const std::atomic<bool>& stop, const node_setup& setup) {
  if (auto few = check_hosted(setup.clients); !few) return tl::unexpected(few.error());
  auto context = setup.at_operator_port ? operator_context(setup.operator_tls) : node_context(setup.tls);
  if (!context) return tl::unexpected(context.error());
  const auto settings = channel_settings_of(setup.heartbeat, setup.timeout, setup.max_message);
  caf::actor_system_config config;
  // One thread in addition to the workers, so that the session is served while all of them train.
  configure_system(config, setup.threads + 1);
  caf::actor_system system(config);
  net::transport transport;

  process_end end;
  node_hooks hooks;
  hooks.stop = &stop;
  hooks.claim = setup.claim;
  hooks.give_up = federated::from_seconds(setup.give_up);
  hooks.open = [way = link_setup{transport, std::move(*context), settings}](
                   const session_events& to, const std::string& address, protocol::session_number attempt) {
    const auto at = net::parse_address(address);
    if (!at) return caf::anon_send(to, session_closed{attempt, at.error().text()});
    open_link(way, to, *at, attempt);
  };
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
