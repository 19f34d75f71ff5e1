// What becomes of those around an actor that an exception ended, or that ended before it was known.
#include <boost/test/unit_test.hpp>

#include "actors/federation/coordinator.hpp"
#include "actors/federation/model_frames.hpp"
#include "actors/federation/parent_link.hpp"
#include "actors/federation/processes_common.hpp"
#include "actors/federation/relay.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/network.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/actors/sessions.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(ended_actors)

using namespace furlong;
using namespace furlong::actors::federation;
using actors::run_request;
using actors::run_result;
using tests::listening_channel;
using tests::patience;
namespace net = actors::net;

namespace {

/// A channel that cannot hold what is sent.
class full_channel final : public listening_channel {
 public:
  void send(wire::encoded) override { throw std::bad_alloc(); }
};

std::shared_ptr<net::received> frame_of(const wire::control& message) {
  const auto encoded = wire::encoder::encode(message).value();
  auto frame = std::make_shared<net::received>(encoded.size());
  std::ranges::copy(encoded.bytes(), frame->bytes().begin());
  return frame;
}

/// Actors of a server around an experiment.
struct stage {
  federated::experiment e = tests::make_experiment({}, tests::make_ratings(12), {}, {});
  std::shared_ptr<federation_context> run;
  std::shared_ptr<admission_control> admission = make_admission_control({}).value();
  std::atomic<bool> stop{false};
  std::promise<error> failed;  ///< of an aggregator
  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
  std::shared_ptr<listening_channel> channel = std::make_shared<listening_channel>();

  stage() {
    configure_system(config, 2);
    system.emplace(config);
    run = std::make_shared<federation_context>(federation_context{e, {}, nullptr});
    run->welcome.run = e.run;
    run->welcome.facts = e.clients->facts();
    run->frames = std::make_shared<model_frames>(e);
  }

  gateway_actor gateway(const parent_actor& parent, clients_of_certificate clients_of = {}) {
    gateway_options options;
    options.clients_of = std::move(clients_of);
    options.admission = admission;
    return system->spawn(gateway_behavior, run, parent, run->welcome, options);
  }
  /// A node opens a session and says hello.
  static void hello(const gateway_actor& to, const std::shared_ptr<listening_channel>& by,
                    protocol::session_number session = 1, federated::client_range clients = {0, 23}) {
    caf::anon_send(to, session_opened{session, net::owned(by)});
    caf::anon_send(to, session_frame{session, frame_of(protocol::hello{
                                                  "test", clients, 7, {}, "", 0, processes::own_kernels().level})});
  }
  /// An aggregator opens a session and says hello.
  template <class Parent>
  static void attach(const Parent& to, const std::shared_ptr<listening_channel>& by, protocol::session_number session) {
    caf::anon_send(to, session_opened{session, net::owned(by)});
    caf::anon_send(to, session_frame{session, frame_of(protocol::branch_hello{"test", "west", "west:1", "",
                                                                              processes::own_kernels().level})});
  }
  /// An aggregator's end of a link, which it opens once.
  parent_link_actor parent_link(const net::channel_ptr& by) {
    parent_link_hooks hooks;
    hooks.stop = &stop;
    hooks.hello = {"test", "west", "west:1"};
    hooks.open = [by](const session_events& to, const net::host_port&, protocol::session_number attempt) {
      caf::anon_send(to, session_opened{attempt, net::owned(by)});
    };
    hooks.on_shut = [] {};
    hooks.on_over = [this](const std::string&, const std::optional<error>& failure) {
      if (failure) failed.set_value(*failure);
    };
    return system->spawn(parent_link_behavior, std::move(hooks),
                         federated::processes::backoff([](federated::virtual_time) { return 0; }));
  }
  static bool ends(caf::scoped_actor& self) {
    bool ended = false;
    self->receive([&](const caf::down_msg&) { ended = true; }, caf::after(patience) >> [] {});
    return ended;
  }
};

/// Has room for every peer, or ends when it is asked.
parent_actor parent_that(caf::actor_system& system, bool dies) {
  return system.spawn([dies](parent_actor::pointer self) -> parent_actor::behavior_type {
    return {[](const from_branch&) {},
            [](const run_failure&) {},
            [](const branch_gone&) {},
            [self, dies](const node_arrived& arrived) {
              if (dies) throw std::bad_alloc();
              self->send(caf::actor_cast<gateway_actor>(self->current_sender()), node_placed{{arrived.node.session}});
            },
            [](const session_opened&) {},
            [](const session_frame&) {},
            [](const session_closed&) {}};
  });
}

/// The parent of a relay, which takes whatever it says.
upward_actor patient_upward(caf::actor_system& system) {
  return system.spawn([](upward_actor::pointer) -> upward_actor::behavior_type {
    return {[](const from_branch&) {}, [](const run_failure&) {}};
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_gateway_whose_parent_died_lets_its_nodes_go_and_ends) {
  stage on;
  caf::scoped_actor self(*on.system);
  const auto gateway = on.gateway(parent_that(*on.system, true));
  self->monitor(gateway);
  stage::hello(gateway, on.channel);
  BOOST_TEST(stage::ends(self));
  BOOST_TEST(on.channel->heard<protocol::close_notice>(1, on.e.parts.shared) == 1U);
  BOOST_TEST(on.channel->is_closed());
}

BOOST_AUTO_TEST_CASE(the_sessions_of_a_gateway_that_died_are_closed) {
  stage on;
  caf::scoped_actor self(*on.system);
  const auto parent = parent_that(*on.system, false);
  const auto gateway = on.gateway(parent);
  self->monitor(gateway);
  const auto full = std::make_shared<full_channel>();
  stage::hello(gateway, full);
  BOOST_TEST(stage::ends(self));
  BOOST_TEST(full->is_closed());
  self->send_exit(parent, caf::exit_reason::user_shutdown);
}

// A transport keeps a connection open with heartbeats, whatever its actor does.
BOOST_AUTO_TEST_CASE(the_links_of_actors_that_died_are_closed) {
  stage on;
  caf::scoped_actor self(*on.system);
  const auto up = patient_upward(*on.system);
  const auto relay = on.system->spawn(relay_behavior, on.run, up, on.run->welcome);
  self->monitor(relay);
  stage::attach(relay, on.channel, 1);
  BOOST_TEST(on.channel->heard<protocol::welcome>(1, on.e.parts.shared) == 1U);
  self->send_exit(relay, caf::exit_reason::user_shutdown);
  BOOST_TEST(stage::ends(self));
  BOOST_TEST(on.channel->is_closed());
  const auto late = std::make_shared<listening_channel>();  // opened when its actor is gone
  caf::anon_send(relay, session_opened{2, net::owned(late)});
  BOOST_TEST(late->is_closed());
  const auto below = std::make_shared<full_channel>();
  self->monitor(on.parent_link(below));
  BOOST_TEST(stage::ends(self));
  BOOST_TEST(below->is_closed());
  self->send_exit(up, caf::exit_reason::user_shutdown);
}

// Its failure is not one of the run.
BOOST_AUTO_TEST_CASE(a_link_that_cannot_hold_what_is_sent_ends_alone) {
  stage on;
  caf::scoped_actor self(*on.system);
  const auto up = patient_upward(*on.system);
  const auto relay = on.system->spawn(relay_behavior, on.run, up, on.run->welcome);
  const auto full = std::make_shared<full_channel>();
  stage::attach(relay, full, 1);
  BOOST_TEST(full->is_closed());
  stage::attach(relay, on.channel, 2);
  BOOST_TEST(on.channel->heard<protocol::welcome>(1, on.e.parts.shared) == 1U);
  self->send_exit(relay, caf::exit_reason::user_shutdown);
  self->send_exit(up, caf::exit_reason::user_shutdown);
}

// Its peer may send nothing: a silent link would stay open for ever.
BOOST_AUTO_TEST_CASE(a_link_whose_actor_died_before_its_first_frame_is_closed) {
  stage on;
  caf::scoped_actor self(*on.system);
  const auto parent = parent_that(*on.system, false);
  self->monitor(parent);
  self->send_exit(parent, caf::exit_reason::user_shutdown);
  BOOST_REQUIRE(stage::ends(self));
  session_router nodes(on.admission);
  link_router links(nodes);
  links.set(on.run, parent);
  const auto full = std::make_shared<full_channel>();
  const auto events = links.open(full);
  BOOST_TEST(full->is_closed());
}

BOOST_AUTO_TEST_CASE(an_aggregator_whose_certificate_is_denied_ends) {
  stage on;
  const auto link = on.parent_link(on.channel);
  BOOST_TEST(on.channel->heard<protocol::branch_hello>(1, on.e.parts.shared) == 1U);
  caf::anon_send(link, session_closed{1, "the certificate is on the deny list", true});
  auto failure = on.failed.get_future();
  BOOST_REQUIRE((failure.wait_for(patience) == std::future_status::ready));
  const auto why = failure.get();
  BOOST_TEST((why.what == error::kind::usage));
  BOOST_TEST(why.text() == "the parent rejects this aggregator: the certificate is on the deny list");
  BOOST_TEST(on.channel->is_closed());
}

BOOST_AUTO_TEST_CASE(a_run_fails_when_the_servers_own_gateway_died) {
  stage on;
  caf::scoped_actor self(*on.system);
  std::atomic<bool> stop{false};
  const federated::run_observer observer;
  const server_watcher watcher;
  auto opened = std::make_shared<std::promise<gateway_actor>>();
  auto gateway = opened->get_future();
  const auto coordinator = on.system->spawn(coordinator_behavior, on.run,
                                            std::make_shared<federated::server_state>(federated::initial_state(on.e)),
                                            &observer, &watcher, &stop, clients_of_certificate{}, on.admission, opened);
  self->send(coordinator, run_request{});
  stage::hello(gateway.get(), std::make_shared<full_channel>());
  std::string why;
  self->receive(
      [&](const run_result& done) {
        if (!*done.outcome) why = done.outcome->error().text();
      },
      caf::after(patience) >> [] {});
  BOOST_TEST(why.starts_with("the server's own gateway: its actor ended"), why);
}

BOOST_AUTO_TEST_CASE(an_aggregator_that_was_lost_at_its_hello_does_not_stay) {
  stage on;
  caf::scoped_actor self(*on.system);
  std::atomic<bool> stop{false};
  const federated::run_observer observer;
  tests::monitor seen;
  std::size_t aggregators = 0;
  server_watcher watcher;
  watcher.on_tick = [&](const federation_view& view) { seen.change([&] { aggregators = view.aggregators.size(); }); };
  auto opened = std::make_shared<std::promise<gateway_actor>>();
  const auto coordinator = on.system->spawn(coordinator_behavior, on.run,
                                            std::make_shared<federated::server_state>(federated::initial_state(on.e)),
                                            &observer, &watcher, &stop, clients_of_certificate{}, on.admission, opened);
  stage::attach(coordinator, on.channel, 1);
  caf::anon_send(coordinator, session_closed{1, "closed by the other side"});
  self->send(coordinator, run_request{});
  BOOST_TEST(seen.wait([&] { return aggregators == 1; }));  // the server's own gateway
  stop = true;
  self->receive([](const run_result&) {}, caf::after(patience) >> [] {});
}

// Else its node would look for a server that has ended.
BOOST_AUTO_TEST_CASE(a_node_whose_aggregator_is_lost_with_the_last_close_notice_hears_it_from_the_server) {
  stage on;
  caf::scoped_actor self(*on.system);
  std::atomic<bool> stop{false};
  const federated::run_observer observer;
  const server_watcher watcher;
  auto opened = std::make_shared<std::promise<gateway_actor>>();
  auto own = opened->get_future();
  auto start = federated::initial_state(on.e);
  start.version = on.e.settings.rounds;
  const auto coordinator =
      on.system->spawn(coordinator_behavior, on.run, std::make_shared<federated::server_state>(std::move(start)),
                       &observer, &watcher, &stop, clients_of_certificate{}, on.admission, opened);
  const federated::client_range all{0, 23};
  const auto sizes = federated::protocol::sizes_of(on.e, all);
  const auto link = std::make_shared<listening_channel>();
  const auto say = [&](const wire::control& message) {
    caf::anon_send(coordinator, session_frame{9, frame_of(message)});
  };
  stage::attach(coordinator, link, 9);
  BOOST_TEST(link->heard<protocol::welcome>(1, on.e.parts.shared) == 1U);
  say(protocol::attached{all, {}, "node", 7, {}, {}, sizes});
  self->send(coordinator, run_request{});
  BOOST_TEST(link->heard<protocol::evaluation_request>(1, on.e.parts.shared) == 1U);
  for (const auto& request : link->all<protocol::evaluation_request>(on.e.parts.shared)) {
    protocol::evaluation_scores scores{request.version, {}};
    for (const auto& [in, client] : request.clients) scores.each.push_back({in, client, {}});
    say(scores);
  }
  BOOST_TEST(link->heard<protocol::close_notice>(1, on.e.parts.shared) == 1U);
  caf::anon_send(coordinator, session_closed{9, "killed"});
  const auto node = std::make_shared<listening_channel>();
  const auto own_gateway = own.get();
  stage::hello(own_gateway, node);
  BOOST_TEST(node->heard<protocol::welcome>(1, on.e.parts.shared) == 1U);
  BOOST_TEST(node->heard<protocol::close_notice>(1, on.e.parts.shared, std::chrono::milliseconds(0)) == 0U);
  caf::anon_send(own_gateway, session_frame{1, frame_of(protocol::ready{on.e.run, {}, sizes})});
  BOOST_TEST(node->heard<protocol::close_notice>(1, on.e.parts.shared) == 1U);
  bool ended = false;
  self->receive([&](const run_result&) { ended = true; }, caf::after(std::chrono::milliseconds(300)) >> [] {});
  BOOST_TEST(!ended);  // the node has not confirmed it
  caf::anon_send(own_gateway, session_closed{1, "closed by the other side"});
  self->receive([&](const run_result& done) { ended = done.outcome->has_value(); }, caf::after(patience) >> [] {});
  BOOST_TEST(ended);
}

BOOST_AUTO_TEST_CASE(a_relay_without_its_link_ends_and_its_children_with_it) {
  stage on;
  caf::scoped_actor self(*on.system);
  const upward_actor up = on.system->spawn([](upward_actor::pointer) -> upward_actor::behavior_type {
    return {[](const from_branch&) { throw std::bad_alloc(); }, [](const run_failure&) {}};
  });
  const auto relay = on.system->spawn(relay_behavior, on.run, up, on.run->welcome);
  const auto gateway = on.gateway(relay);
  self->monitor(relay);
  self->monitor(gateway);
  self->send(relay, own_gateway{gateway});
  self->send(up, from_branch{});
  BOOST_TEST(stage::ends(self));
  BOOST_TEST(stage::ends(self));
}

BOOST_AUTO_TEST_CASE(a_model_that_cannot_be_sent_is_told_to_the_parent_and_no_task_goes_out) {
  stage on;
  caf::scoped_actor self(*on.system);
  tests::monitor seen;
  std::string why;
  const auto parent = on.system->spawn([&](parent_actor::pointer actor) -> parent_actor::behavior_type {
    return {[](const from_branch&) {},
            [&](const run_failure& message) { seen.change([&] { why = message.why.text(); }); },
            [](const branch_gone&) {},
            [actor](const node_arrived& arrived) {
              actor->send(caf::actor_cast<gateway_actor>(actor->current_sender()), node_placed{{arrived.node.session}});
            },
            [](const session_opened&) {},
            [](const session_frame&) {},
            [](const session_closed&) {}};
  });
  const auto gateway = on.gateway(parent);
  stage::hello(gateway, on.channel);
  BOOST_TEST(on.channel->heard<protocol::welcome>(1, on.e.parts.shared) == 1U);
  const protocol::ready ready{on.e.run, {}, protocol::sizes_of(on.e, {0, 23})};
  caf::anon_send(gateway, session_frame{1, frame_of(ready)});
  auto model = federated::make_broadcast(on.e, federated::initial_state(on.e));
  model.reference = {1.0};  // the mean has no constants
  const auto from = std::make_shared<const federated::broadcast>(std::move(model));
  protocol::assign given{0, from, {{on.e.run, 0, 3, 0}}, true};
  caf::anon_send(gateway, to_branch{std::make_shared<const downward>(std::move(given))});
  BOOST_TEST(seen.wait([&] { return !why.empty(); }));
  BOOST_TEST(why.starts_with("broadcast.reference: has 1 numbers"), why);
  caf::anon_send(gateway, to_branch{std::make_shared<const downward>(protocol::close_notice{"over", true})});
  BOOST_TEST(on.channel->heard<protocol::close_notice>(1, on.e.parts.shared) == 1U);  // behind the task, were there one
  BOOST_TEST(on.channel->heard<protocol::assignment>(1, on.e.parts.shared, std::chrono::milliseconds(0)) == 0U);
  self->send_exit(parent, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_SUITE_END()
