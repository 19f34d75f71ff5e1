#include "actors/federation/coordinator.hpp"
#include "actors/federation/gateway.hpp"
#include "actors/federation/key_identity.hpp"
#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "actors/federation/processes_common.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::actors::federation {

namespace {

/// All but what a checkpoint decides.
protocol::welcome welcome_of(const federated::experiment& e, const server_setup& setup) {
  protocol::welcome made;
  made.run = e.run;
  made.scenario = setup.scenario;
  made.facts = e.clients->facts();
  made.kernel_level = models::kernels().level;
  made.parts = setup.parts;
  return made;
}

result<std::shared_ptr<const federation_context>> make_context(const federated::experiment& e,
                                                               const server_setup& setup,
                                                               const federated::server_state& start) {
  auto made = std::make_shared<federation_context>(federation_context{e, welcome_of(e, setup), nullptr});
  made->welcome.start_id = start.start_id;
  made->welcome.history = start.history;
  made->welcome.covered = start.history.life() > 0 ? start.version : 0;
  made->frames = std::make_shared<model_frames>(e);
  if (e.settings.privacy->secure_aggregation && setup.tls) {
    auto check = make_key_check(setup.tls->gateway);
    if (!check) return tl::unexpected(check.error());
    made->check_keys = std::move(*check);
  }
  return made;
}

/// Checks that the run can be served with this setup.
result<void> check_setup(const federated::experiment& e, const server_setup& setup) {
  if (e.settings.network->operator_trust && !setup.operators)
    return fail(error::kind::usage, "network.trust", "accepts nodes at the operator port, and there is none",
                "add --operator HOST:PORT, or set it to \"certificates\"");
  if (const auto frame = wire::encoder::encode(wire::control(welcome_of(e, setup))); !frame)
    return fail(error::kind::usage, "the scenario", "cannot be told to nodes: " + frame.error().text(),
                "shorten it, and leave out characters that are not printable");
  return check_max_message(e, e.clients->facts().clients, setup.operators.has_value());
}

/// The same, but nobody is accepted yet.
net::listener_settings closed_port(net::listener_settings settings) {
  settings.limits.handshakes = 0;
  return settings;
}

}  // namespace

/// In the order of dependencies: later members end first.
struct server::parts {
  const federated::experiment& e;
  server_setup setup;
  std::shared_ptr<admission_control> admission;
  session_router router{admission};
  link_router branches{router};
  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
  net::transport transport;
  /// With a thread of its own: handshakes of strangers at the gateway must not delay the heartbeats of aggregators.
  std::optional<net::transport> links;
  net::listener_settings how;
  net::listener_settings how_links;
  std::unique_ptr<net::listener> listener;
  std::unique_ptr<net::listener> operators;

  parts(const federated::experiment& of, server_setup with, std::shared_ptr<admission_control> by)
      : e(of), setup(std::move(with)), admission(std::move(by)) {}
  result<void> open();
  result<federated::run_outcome> run(federated::server_state start, const federated::run_observer& observer,
                                     const server_watcher& watcher, const std::atomic<bool>& stop);
  void shut();
};

result<void> server::parts::open() {
  configure_system(config, setup.threads);
  system.emplace(config);
  const auto clients = e.clients->facts().clients;
  how = listener_settings_of(e, clients, setup.upload_room, setup.operators ? ports_with_operator : 1);
  auto gateway = open_gateway(transport, setup.listen, setup.tls, admission, closed_port(how), router);
  if (!gateway) return tl::unexpected(gateway.error());
  listener = std::move(*gateway);
  if (!setup.operators) return {};
  links.emplace();
  how_links = link_listener_settings_of(e, clients, setup.upload_room);
  auto port = open_operator_port(*links, *setup.operators, setup.tls, admission, closed_port(how_links), branches);
  if (!port) return tl::unexpected(port.error());
  operators = std::move(*port);
  return {};
}

void server::parts::shut() {
  router.set({});
  branches.shut();
  listener.reset();
  operators.reset();
}

server::server(std::unique_ptr<parts> opened) : parts_(std::move(opened)) {}
server::~server() = default;

result<std::unique_ptr<server>> server::open(const federated::experiment& e, server_setup setup) {
  if (auto fit = check_setup(e, setup); !fit) return tl::unexpected(fit.error());
  auto admission = make_admission_control(setup.tls);
  if (!admission) return tl::unexpected(admission.error());
  auto made = std::make_unique<parts>(e, std::move(setup), std::move(*admission));
  if (auto opened = made->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<server>(new server(std::move(made)));
}

result<federated::run_outcome> server::run(federated::server_state start, const federated::run_observer& observer,
                                           const server_watcher& watcher, const std::atomic<bool>& stop) {
  return parts_->run(std::move(start), observer, watcher, stop);
}

result<federated::run_outcome> server::parts::run(federated::server_state start,
                                                  const federated::run_observer& observer,
                                                  const server_watcher& watcher, const std::atomic<bool>& stop) {
  const auto made = make_context(e, setup, start);
  if (!made) return tl::unexpected(made.error());
  const auto& run = *made;
  result<federated::run_outcome> outcome;
  {
    caf::scoped_actor self(*system);
    auto opened = std::make_shared<std::promise<gateway_actor>>();
    auto gateway = opened->get_future();
    const auto coordinator = self->spawn<caf::detached>(
        coordinator_behavior, run, std::make_shared<federated::server_state>(std::move(start)), &observer, &watcher,
        &stop, clients_by_certificate(setup.tls.has_value()), admission, opened);
    router.set(gateway.get());
    branches.set(run, coordinator);
    static_cast<void>(listener->use(how));  // checked by open()
    if (operators) static_cast<void>(operators->use(how_links));
    if (watcher.on_listening) watcher.on_listening(listener->port(), operators ? operators->port() : std::uint16_t{0});
    outcome = run_to_end(self, coordinator, "the server", "its coordinator ended: ");
    shut();
  }
  log_refusals(*admission);
  system->await_all_actors_done();
  if (links) links->wait_ended(link_linger);
  return outcome;
}

}  // namespace furlong::actors::federation
