#include "actors/federation/key_identity.hpp"
#include "actors/federation/message_limits.hpp"
#include "actors/federation/node.hpp"
#include "actors/federation/nonce.hpp"
#include "actors/federation/processes_common.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/private_values.hpp"

namespace furlong::actors::federation {

namespace {

constexpr std::size_t tasks_per_wave = 8;  // per worker

result<processes::node_run_ptr> make_run(const node_setup& setup, const protocol::welcome& content) {
  auto prepared = setup.prepare(content);
  if (!prepared) return tl::unexpected(prepared.error());
  const auto& settings = prepared->e.settings;
  if (auto done = processes::follow_kernels(settings.network->kernels, content.kernel_level); !done)
    return tl::unexpected(done.error());
  auto run = std::make_shared<processes::node_run>();
  run->work = {setup.threads, tasks_per_wave, settings.own->commit == federated::commit_kind::after_training};
  run->sizes = protocol::sizes_of(prepared->e, setup.clients);
  if (settings.privacy->secure_aggregation && setup.tls) {
    auto own = make_key_identity(*setup.tls);
    if (!own) return tl::unexpected(own.error());
    run->identity = std::move(*own);
  }
  run->store = std::move(prepared->store);
  run->claim = prepared->claim;
  run->note_served = std::move(prepared->note_served);
  run->confirmed = std::move(prepared->confirmed);
  run->e = std::make_shared<const federated::experiment>(std::move(prepared->e));
  return run;
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
  hooks.open = [way = link_setup{transport, std::move(*context), settings}](
                   const session_events& to, const std::string& address, protocol::session_number attempt) {
    const auto at = net::parse_address(address);
    if (!at) return caf::anon_send(to, session_closed{attempt, at.error().text()});
    open_link(way, to, *at, attempt);
  };
  hooks.prepare = [&](const protocol::welcome& content) { return make_run(setup, content); };
  hooks.on_over = end.hook();
  processes::node_settings node_settings{setup.server.text(), "furlong",   setup.clients,
                                         fresh_nonce(),       setup.claim, federated::from_seconds(setup.give_up)};
  processes::backoff pause(random_stream(setup.clients.first, purpose::reconnect, 0, setup.clients.last));
  const auto node =
      system.spawn(node_behavior, std::move(node_settings), setup.threads, std::move(pause), std::move(hooks));
  auto why = end.wait(system, node, "the node");
  system.await_all_actors_done();
  return why;
}

}  // namespace furlong::actors::federation
