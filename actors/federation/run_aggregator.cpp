#include "actors/federation/model_frames.hpp"
#include "actors/federation/parent_link.hpp"
#include "actors/federation/processes_common.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

/// A context that owns its experiment.
struct own_context {
  federated::experiment e;
  federation_context context;
  explicit own_context(federated::experiment of) : e(std::move(of)), context{e, {}, nullptr} {}
};

result<std::shared_ptr<const federation_context>> make_context(const aggregator_setup& setup,
                                                               const protocol::welcome& got) {
  auto e = setup.prepare(got);
  if (!e) return tl::unexpected(e.error());
  if (auto done = processes::follow_kernels(e->settings.network->kernels, got.kernel_level); !done)
    return tl::unexpected(done.error());
  auto made = std::make_shared<own_context>(std::move(*e));
  made->context.welcome = got;
  made->context.frames = std::make_shared<model_frames>(made->e);
  return std::shared_ptr<const federation_context>(made, &made->context);
}

std::size_t ports_of(const aggregator_setup& setup) { return setup.operators ? ports_with_operator : 1; }

/// The listeners open before the run is known, because their ports are in the hello. Nobody is admitted until then.
/// `children`: null if there are none.
result<void> use_settings_of(const federation_context& run, const aggregator_setup& setup, net::listener& nodes,
                             net::listener* children) {
  const auto clients = run.welcome.facts.clients;
  auto used = nodes.use(listener_settings_of(run.e, clients, setup.upload_room, ports_of(setup)));
  if (!used || children == nullptr) return used;
  return children->use(link_listener_settings_of(run.e, clients, setup.upload_room));
}

std::string advertised(const std::string& given, const std::string& host, std::uint16_t port) {
  return given.empty() ? net::host_port{host, port}.text() : given;
}

/// Null if it accepts no children.
result<std::unique_ptr<net::listener>> open_operators(net::transport& on, const aggregator_setup& setup,
                                                      const std::shared_ptr<admission_control>& admission,
                                                      const net::channel_settings& channel, link_router& router) {
  if (!setup.operators) return nullptr;
  return open_operator_port(on, *setup.operators, setup.tls, admission,
                            listener_settings_of(channel, setup.upload_room, ports_of(setup)), router);
}

protocol::branch_hello hello_of(const aggregator_setup& setup, std::uint16_t port, std::uint16_t operator_port) {
  protocol::branch_hello hello;
  hello.software = "furlong";
  hello.name = setup.name;
  hello.gateway = advertised(setup.advertise, setup.listen.host, port);
  if (setup.operators) hello.operators = advertised(setup.advertise_operators, setup.operators->host, operator_port);
  return hello;
}

}  // namespace

result<std::string> run_aggregator(const std::atomic<bool>& stop, const aggregator_setup& setup) {
  const auto admission = make_admission_control(setup.tls);
  if (!admission) return tl::unexpected(admission.error());
  auto context = operator_context(setup.tls);
  if (!context) return tl::unexpected(context.error());
  caf::actor_system_config config;
  configure_system(config, setup.threads);
  caf::actor_system system(config);
  session_router router(*admission);
  link_router branches(router);
  net::transport transport;
  // With a thread of its own: handshakes of strangers at the gateway must not delay its heartbeats.
  net::transport links;
  const auto link_settings = link_settings_of(setup.heartbeat, setup.timeout, setup.max_message);
  const auto how = listener_settings_of(channel_settings_of(setup.heartbeat, setup.timeout, setup.max_message),
                                        setup.upload_room, ports_of(setup));
  auto listener = open_gateway(transport, setup.listen, setup.tls, *admission, how, router);
  if (!listener) return tl::unexpected(listener.error());
  auto operators = open_operators(links, setup, *admission, link_settings, branches);
  if (!operators) return tl::unexpected(operators.error());
  const auto port = (*listener)->port();
  const auto operator_port = *operators ? (*operators)->port() : std::uint16_t{0};
  if (setup.on_listening) setup.on_listening(port, operator_port);

  process_end end;
  parent_link_hooks hooks;
  hooks.stop = &stop;
  hooks.give_up = federated::from_seconds(setup.give_up);
  hooks.admission = *admission;
  hooks.parent = setup.parent;
  hooks.hello = hello_of(setup, port, operator_port);
  hooks.clients_of = clients_by_certificate(setup.tls.has_value());
  hooks.open = [above = link_setup{links, std::move(*context), link_settings}](
                   const session_events& to, const net::host_port& at, protocol::session_number attempt) {
    open_link(above, to, at, attempt);
  };
  hooks.prepare = [&](const protocol::welcome& got) {
    auto made = make_context(setup, got);
    if (!made) return made;
    return use_settings_of(**made, setup, **listener, operators->get()).map([&] { return *made; });
  };
  hooks.on_open = [&](const std::shared_ptr<const federation_context>& run, gateway_actor gateway, relay_actor relay) {
    router.set(std::move(gateway));
    branches.set(run, std::move(relay));
  };
  hooks.on_shut = [&] {
    router.set({});
    branches.shut();
  };
  hooks.on_over = end.hook();
  federated::processes::backoff pause(random_stream(std::hash<std::string>{}(setup.name), purpose::reconnect, 0, port));
  auto why = end.wait(system, system.spawn(parent_link_behavior, std::move(hooks), std::move(pause)), "the aggregator");
  router.set({});  // in case the link ended by an exception
  branches.shut();
  log_refusals(**admission);
  operators->reset();
  system.await_all_actors_done();
  links.wait_ended(link_linger);
  return why;
}

}  // namespace furlong::actors::federation
