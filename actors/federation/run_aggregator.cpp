#include "actors/federation/model_frames.hpp"
#include "actors/federation/parent_link.hpp"
#include "actors/federation/processes_common.hpp"
#include "actors/operator/connect.hpp"

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
  made->context.frames = std::make_shared<model_frames>(made->e.parts.shared, wire::packing{});
  return std::shared_ptr<const federation_context>(made, &made->context);
}

}  // namespace

result<std::string> run_aggregator(const std::atomic<bool>& stop, const aggregator_setup& setup) {
  std::shared_ptr<tls::deny_list> denied;
  if (setup.tls) {
    auto loaded = tls::deny_list::load(setup.tls->deny);
    if (!loaded) return tl::unexpected(loaded.error());
    denied = std::move(*loaded);
  }
  caf::actor_system_config config;
  if (auto done = configure_system(config, setup.threads, setup.tls, true, setup.heartbeat, setup.timeout); !done)
    return tl::unexpected(done.error());
  caf::actor_system system(config);
  gateway_door door;
  net::transport transport;
  auto listener =
      open_gateway(transport, setup.listen, setup.tls, denied.get(),
                   channel_settings_of(setup.heartbeat, setup.timeout, setup.max_message), setup.upload_room, door);
  if (!listener) return tl::unexpected(listener.error());
  const auto port = (*listener)->port();
  if (setup.on_listening) setup.on_listening(port);

  std::promise<result<std::string>> over;
  auto ended = over.get_future();
  parent_link_hooks hooks;
  hooks.stop = &stop;
  hooks.give_up = federated::from_seconds(setup.give_up);
  hooks.hello.software = "furlong";
  hooks.hello.name = setup.name;
  hooks.hello.gateway = setup.advertise.empty() ? net::host_port{setup.listen.host, port}.text() : setup.advertise;
  hooks.clients_of = clients_by_certificate(setup.tls.has_value());
  hooks.open = [&](const session_events& to, protocol::session_number attempt) {
    links::operator_target target{setup.parent.host, setup.parent.port};
    links::operator_connect(
        system, target, {},
        [to, attempt](const net::channel_ptr& channel) {
          caf::anon_send(to, session_opened{attempt, channel});
          return events_for(to, attempt);
        },
        [to, attempt](const error& why) {
          caf::anon_send(to, session_closed{attempt, why.text()});
        });
  };
  hooks.prepare = [&](const protocol::welcome& got) { return make_context(setup, got); };
  hooks.on_gateway = [&](gateway_actor gateway) { door.set(std::move(gateway)); };
  hooks.on_over = [&](const std::string& why, const std::optional<error>& failure) {
    if (failure)
      over.set_value(tl::unexpected(*failure));
    else
      over.set_value(why);
  };
  net::backoff pause(models::random_stream(std::hash<std::string>{}(setup.name), models::purpose::reconnect, 0, port));
  system.spawn(parent_link_behavior, std::move(hooks), std::move(pause));
  auto why = ended.get();
  system.await_all_actors_done();
  return why;
}

}  // namespace furlong::actors::federation
