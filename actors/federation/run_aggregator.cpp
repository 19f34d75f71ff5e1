#include "actors/federation/model_frames.hpp"
#include "actors/federation/parent_link.hpp"
#include "actors/federation/processes_common.hpp"

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
  auto made = std::make_shared<own_context>(std::move(*e));
  made->context.welcome = got;
  made->context.frames =
      std::make_shared<model_frames>(made->e.parts.shared, wire::packing_of(made->e.settings.network));
  return std::shared_ptr<const federation_context>(made, &made->context);
}

/// The listener opens before the run is known, since its port is in the hello. Nobody is let in until then.
void use_settings_of(const federation_context& run, const aggregator_setup& setup, net::listener& nodes) {
  const auto how = listener_settings_of(run.e, run.welcome.facts.clients, setup.upload_room);
  if (auto used = nodes.use(how); !used) spdlog::error("{}", used.error().text());
}

std::string advertised(const std::string& given, const std::string& host, std::uint16_t port) {
  return given.empty() ? net::host_port{host, port}.text() : given;
}

}  // namespace

result<std::string> run_aggregator(const std::atomic<bool>& stop, const aggregator_setup& setup) {
  const auto keeper = make_gate(setup.tls);
  if (!keeper) return tl::unexpected(keeper.error());
  caf::actor_system_config config;
  if (auto done = configure_system(config, setup.threads, setup.tls, true, setup.heartbeat, setup.timeout); !done)
    return tl::unexpected(done.error());
  caf::actor_system system(config);
  gateway_door door(*keeper);
  net::transport transport;
  const auto how =
      listener_settings_of(channel_settings_of(setup.heartbeat, setup.timeout, setup.max_message), setup.upload_room);
  auto listener = open_gateway(transport, setup.listen, setup.tls, *keeper, how, door);
  if (!listener) return tl::unexpected(listener.error());
  branch_door branches(door);
  std::unique_ptr<links::operator_listener> operators;
  if (setup.operators) {
    auto opened = open_operator_port(system, *setup.operators, branches);
    if (!opened) return tl::unexpected(opened.error());
    operators = std::move(*opened);
  }
  const auto port = (*listener)->port();
  const auto operator_port = operators ? operators->port() : std::uint16_t{0};
  if (setup.on_listening) setup.on_listening(port, operator_port);

  std::promise<result<std::string>> over;
  auto ended = over.get_future();
  parent_link_hooks hooks;
  hooks.stop = &stop;
  hooks.give_up = federated::from_seconds(setup.give_up);
  hooks.keeper = *keeper;
  hooks.parent = setup.parent;
  hooks.hello.software = "furlong";
  hooks.hello.name = setup.name;
  hooks.hello.gateway = advertised(setup.advertise, setup.listen.host, port);
  if (operators) hooks.hello.operators = advertised(setup.advertise_operators, setup.operators->host, operator_port);
  hooks.clients_of = clients_by_certificate(setup.tls.has_value());
  hooks.open = [&](const session_events& to, const net::host_port& at, protocol::session_number attempt) {
    open_link(system, to, at, attempt, setup.max_message);
  };
  hooks.prepare = [&](const protocol::welcome& got) {
    auto made = make_context(setup, got);
    if (made) use_settings_of(**made, setup, **listener);
    return made;
  };
  hooks.on_open = [&](const std::shared_ptr<const federation_context>& run, gateway_actor gateway, relay_actor relay) {
    door.set(std::move(gateway));
    branches.set(run, std::move(relay));
  };
  hooks.on_shut = [&] {
    door.set({});
    branches.shut();
  };
  hooks.on_over = keep(over);
  net::backoff pause(models::random_stream(std::hash<std::string>{}(setup.name), models::purpose::reconnect, 0, port));
  {
    caf::scoped_actor self(system);
    const auto link = self->spawn(parent_link_behavior, std::move(hooks), std::move(pause));
    self->monitor(link);
    // It says why it ends before it does; but for one that an exception ended.
    self->receive([&](const caf::down_msg& down) {
      if (ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return;
      over.set_value(fail(error::kind::runtime, "the aggregator", "its actor ended: " + caf::to_string(down.reason)));
      door.set({});
      branches.shut();
    });
  }
  auto why = ended.get();
  log_turned_away(**keeper);
  operators.reset();  // its actor would be waited for
  system.await_all_actors_done();
  return why;
}

}  // namespace furlong::actors::federation
