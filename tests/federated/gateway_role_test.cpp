// The role of a gateway: whom it admits, and what it tells nodes and parent, one event at a time.
#include "federated/processes/gateway_role.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/settings/settings.hpp"
#include "tests/federated/role_hosts.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(gateway_roles)

using namespace furlong;
using namespace furlong::federated::processes;
namespace protocol = federated::protocol;
using federated::client_range;

namespace {

class gateway_host final : public tests::noting_host<gateway_surroundings> {
 public:
  std::vector<protocol::upward> reports;
  std::vector<node_arrival> arrivals;
  std::map<admission_refusal, int> refusals;
  int unasked = 0;
  int ends = 0;

  void tell_parent(protocol::upward&& content) override { reports.push_back(std::move(content)); }
  void place(const node_arrival& node) override { arrivals.push_back(node); }
  void record_refusal(const peer_facts&, admission_refusal reason, const std::string&) override { ++refusals[reason]; }
  void record_unasked(federated::rejection) override { ++unasked; }
  void end() override { ++ends; }

  /// Reports of a kind since the start.
  template <class Report>
  [[nodiscard]] std::vector<Report> reported() const {
    std::vector<Report> found;
    for (const auto& report : reports)
      if (const auto* content = std::get_if<Report>(&report)) found.push_back(*content);
    return found;
  }
};

constexpr client_range everyone{0, 23};

/// A gateway of 24 clients.
struct gateway {
  federated::experiment e = tests::make_experiment({}, tests::make_ratings(24), {}, {});
  gateway_host host;
  gateway_role role;

  explicit gateway(clients_of_certificate clients_of = {})
      : role(e, welcome(), gateway_options{3, std::move(clients_of), {}}, host) {}
  [[nodiscard]] protocol::welcome welcome() const {
    protocol::welcome content;
    content.run = e.run;
    content.facts = e.clients->facts();
    return content;
  }
  void hello(session_number session, const client_range& clients, const std::string& name = "node",
             bool trusted = false) {
    role.on_opened(session, {name, "host:1", trusted});
    protocol::hello content{"test", clients, 0, {}, "", session};
    role.on_message(session, content);
  }
  /// Its parent lets it stay.
  void join(session_number session, const client_range& clients, const std::string& name = "node") {
    hello(session, clients, name);
    role.on_placed({session});
    ready(session, clients);
  }
  void ready(session_number session, const client_range& clients) {
    role.on_message(session, protocol::ready{e.run, {}, protocol::sizes_of(e, clients)});
  }
  void assign(std::uint64_t version, std::uint32_t client) {
    federated::broadcast model{e.run, version, models::shared_parameters(e.parts.shared), {}};
    role.on_downward(
        protocol::assign{3, std::make_shared<const federated::broadcast>(std::move(model)), {task(version, client)}});
  }
  [[nodiscard]] federated::task_id task(std::uint64_t version, std::uint32_t client) const {
    return {e.run, version, client, 0};
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_is_welcome_when_its_parent_lets_it_stay_and_attached_when_it_is_ready) {
  gateway on;
  on.hello(1, {0, 4});
  BOOST_TEST(on.host.arrivals.size() == 1U);
  BOOST_TEST(on.host.take<protocol::welcome>(1).empty());
  on.role.on_placed({1});
  BOOST_TEST(on.host.take<protocol::welcome>(1).size() == 1U);
  BOOST_TEST(on.host.admissions.contains(1));
  BOOST_TEST(on.host.reports.empty());
  on.ready(1, {0, 4});
  const auto attached = on.host.reported<protocol::attached>();
  BOOST_TEST_REQUIRE(attached.size() == 1U);
  BOOST_TEST(attached[0].node == "node");
  BOOST_TEST(attached[0].instance == 1U);
}

BOOST_AUTO_TEST_CASE(a_node_goes_where_its_parent_sends_it_unless_the_operator_vouches_for_it) {
  gateway on;
  on.hello(1, {0, 4});
  on.role.on_placed({1, "west:1"});
  const auto redirects = on.host.take<protocol::redirect>(1);
  BOOST_TEST_REQUIRE(redirects.size() == 1U);
  BOOST_TEST(redirects[0].address == "west:1");
  BOOST_TEST(on.host.closed.contains(1));
  on.hello(2, {5, 9}, "trusted", true);
  on.role.on_placed({2, "west:1"});
  BOOST_TEST(on.host.take<protocol::welcome>(2).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_node_with_other_kernels_or_another_store_is_refused_for_good) {
  gateway on;
  on.hello(1, {0, 4});
  on.role.on_placed({1, "", "its kernels differ"});
  on.hello(2, {0, 4});
  on.role.on_placed({2, "", {}, "its store differs"});
  for (const session_number session : {1, 2}) {
    const auto notices = on.host.take<protocol::close_notice>(session);
    BOOST_TEST_REQUIRE(notices.size() == 1U);
    BOOST_TEST((notices[0].final && notices[0].unwanted && !notices[0].remedy.empty()));
    BOOST_TEST(on.host.closed.contains(session));
  }
  BOOST_TEST(on.host.refusals[admission_refusal::other_kernels] == 1);
  BOOST_TEST(on.host.refusals[admission_refusal::other_store] == 1);
}

// Its own command refuses such a range before it connects: only a node that was tampered with sends it.
BOOST_AUTO_TEST_CASE(a_node_hosts_no_clients_outside_its_certificates_range) {
  gateway on([](const std::string&) { return client_range{5, 9}; });
  session_number session = 0;
  for (const client_range clients : {client_range{5, 10}, {4, 9}, {4, 10}, {10, 12}, {0, 23}}) {
    on.hello(++session, clients);
    BOOST_TEST(on.host.take<protocol::close_notice>(session).size() == 1U, clients.first << "-" << clients.last);
    BOOST_TEST(on.host.closed.contains(session));
  }
  BOOST_TEST(on.host.refusals[admission_refusal::not_its_clients] == 5);
  BOOST_TEST(on.host.arrivals.empty());
  on.hello(++session, {5, 9});
  on.hello(++session, {6, 8});
  on.hello(++session, everyone, "aggregator", true);
  BOOST_TEST(on.host.arrivals.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_node_has_no_clients_that_there_are_not_and_no_tasks_of_others) {
  gateway on;
  on.hello(1, {20, 24});
  BOOST_TEST(on.host.closed.contains(1));
  on.role.on_opened(2, {"node", "host:1", false});
  on.role.on_message(2, protocol::hello{"test", {0, 4}, 0, {on.task(0, 5)}, ""});
  BOOST_TEST(on.host.closed.contains(2));
  BOOST_TEST(on.host.refusals[admission_refusal::not_its_clients] == 2);
}

BOOST_AUTO_TEST_CASE(messages_out_of_turn_end_the_session) {
  gateway on;
  on.role.on_opened(1, {});
  on.ready(1, everyone);  // without a hello
  on.hello(2, {0, 4}, "");
  on.role.on_message(2, protocol::hello{"test", {0, 4}, 0, {}, ""});  // a second one
  on.hello(3, {5, 9}, "");
  on.role.on_placed({3});
  on.role.on_message(3, protocol::task_failures{{on.task(0, 5)}});  // not ready
  on.join(4, {10, 14}, "");
  on.role.on_unexpected(4);
  on.join(5, {15, 19}, "");
  on.role.on_message(5, protocol::redirect{"west:1"});
  for (const session_number session : {1, 2, 3, 4, 5}) BOOST_TEST(on.host.closed.contains(session), session);
  BOOST_TEST(on.host.refusals[admission_refusal::out_of_turn] == 5);
  on.hello(6, {20, 23}, "");
  on.role.on_placed({6});
  on.ready(6, {20, 22});  // sizes of fewer clients
  BOOST_TEST(on.host.refusals[admission_refusal::bad_frame] == 1);
}

BOOST_AUTO_TEST_CASE(a_session_that_was_never_ready_ends_when_its_node_comes_again) {
  gateway on;
  on.hello(1, everyone);
  on.hello(2, everyone);
  BOOST_TEST(on.host.take<protocol::close_notice>(1).size() == 1U);
  BOOST_TEST(on.host.closed.contains(1));
  on.role.on_placed({2});
  on.ready(2, everyone);
  on.hello(3, everyone);  // one that is ready stays, until another one is too
  BOOST_TEST(!on.host.closed.contains(2));
  on.role.on_placed({3});
  on.ready(3, everyone);
  const auto notices = on.host.take<protocol::close_notice>(2);
  BOOST_TEST_REQUIRE(notices.size() == 1U);
  BOOST_TEST((notices[0].final && notices[0].unwanted));
  // Without certificates it may be another node.
  gateway open;
  open.hello(1, everyone, "");
  open.hello(2, everyone, "");
  BOOST_TEST(open.host.closed.empty());
}

BOOST_AUTO_TEST_CASE(a_model_is_sent_once_before_what_refers_to_it_and_again_when_it_was_forgotten) {
  gateway on;
  on.join(1, {0, 4});
  on.assign(0, 1);
  on.assign(0, 2);
  BOOST_TEST(on.host.models.size() == 1U);
  BOOST_TEST(on.host.take<protocol::assignment>(1).size() == 2U);
  for (std::uint64_t version = 1; version <= models_kept; ++version) on.assign(version, 1);
  on.assign(1, 2);
  BOOST_TEST(on.host.models.size() == 1 + models_kept);
  on.assign(0, 3);
  BOOST_TEST(on.host.models.size() == 2 + models_kept);
}

BOOST_AUTO_TEST_CASE(no_task_goes_out_without_its_model) {
  gateway on;
  on.join(1, {0, 4});
  on.host.can_send_models = false;
  on.assign(0, 1);
  BOOST_TEST(on.host.take<protocol::assignment>(1).empty());
  on.host.can_send_models = true;
  on.assign(0, 2);
  BOOST_TEST(on.host.models.size() == 1U);
  BOOST_TEST(on.host.take<protocol::assignment>(1).size() == 1U);
}

BOOST_AUTO_TEST_CASE(updates_are_taken_of_nodes_that_are_ready_and_counted_if_nobody_asked) {
  gateway on;
  random_stream stream(1, purpose::test);
  auto update = tests::random_update(stream, on.e.parts.shared);
  on.hello(1, {0, 4});
  on.role.on_placed({1});
  update.id = on.task(0, 1);
  on.role.on_update(1, update);
  BOOST_TEST(on.host.closed.contains(1));
  on.join(2, {0, 4});
  on.assign(0, 1);
  on.role.on_update(2, update);
  BOOST_TEST(on.host.reported<protocol::settled>().size() == 1U);
  BOOST_TEST(on.host.unasked == 0);
  update.id = on.task(0, 9);
  on.role.on_update(2, update);
  BOOST_TEST(on.host.unasked == 1);
  const error other_shape{error::kind::data, "update.tensors", "is of another shape", ""};
  on.role.on_undecodable(2, other_shape);
  BOOST_TEST(on.host.unasked == 2);
  BOOST_TEST(on.host.closed.contains(2));
  on.role.on_undecodable(2, other_shape);  // it was sent before the node heard that its session is over
  BOOST_TEST(on.host.unasked == 2);
  BOOST_TEST(on.host.refusals[admission_refusal::bad_frame] == 1);
}

BOOST_AUTO_TEST_CASE(nodes_hear_of_checkpoints_once_they_are_ready) {
  gateway on;
  on.hello(1, {0, 4});
  on.role.on_placed({1});
  on.role.on_downward(protocol::checkpointed{7});
  BOOST_TEST(on.host.take<protocol::checkpointed>(1).empty());
  on.ready(1, {0, 4});
  const auto durable = on.host.take<protocol::checkpointed>(1);
  BOOST_TEST_REQUIRE(durable.size() == 1U);
  BOOST_TEST(durable[0].version == 7U);
}

BOOST_AUTO_TEST_CASE(a_displaced_node_ends_and_others_stay) {
  gateway on;
  on.join(1, {0, 4}, "west");
  on.join(2, {5, 9}, "east");
  on.role.on_downward(protocol::displaced{2, "its store differs", "put it back"});
  const auto notices = on.host.take<protocol::close_notice>(2);
  BOOST_TEST_REQUIRE(notices.size() == 1U);
  BOOST_TEST((notices[0].final && notices[0].unwanted && notices[0].remedy == "put it back"));
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{2}));
  on.role.on_downward(protocol::displaced{77});
  BOOST_TEST(on.host.closed.size() == 1U);
}

BOOST_AUTO_TEST_CASE(denied_nodes_are_refused_and_a_reason_to_connect_again_is_for_all) {
  gateway on;
  on.join(1, {0, 4}, "west");
  on.join(2, {5, 9}, "east");
  on.role.refuse_denied([](const peer_facts& peer) { return peer.name == "west"; }, "on the deny list");
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1}));
  BOOST_TEST(on.host.refusals[admission_refusal::denied] == 1);
  on.role.end_sessions("other kernels");
  const auto notices = on.host.take<protocol::close_notice>(2);
  BOOST_TEST_REQUIRE(notices.size() == 1U);
  BOOST_TEST(!notices[0].final);
  BOOST_TEST(on.host.closed.contains(2));
  BOOST_TEST(on.host.ends == 0);
}

BOOST_AUTO_TEST_CASE(it_ends_when_all_nodes_have_heard_the_end_of_the_run) {
  gateway on;
  on.join(1, {0, 4}, "west");
  on.join(2, {5, 9}, "east");
  on.role.on_downward(protocol::close_notice{run_is_over, true});
  BOOST_TEST(on.host.take<protocol::close_notice>(1).size() == 1U);
  BOOST_TEST(on.host.closed.empty());
  on.role.on_closed(1, {"closed by the other side"});
  on.role.on_opened(3, {});  // it hears so too
  BOOST_TEST(on.host.take<protocol::close_notice>(3).size() == 1U);
  on.role.on_closed(3, {"closed by the other side"});
  BOOST_TEST(on.host.ends == 0);
  on.role.on_closed(2, {"closed by the other side"});
  BOOST_TEST(on.host.ends == 1);
  on.role.on_opened(4, {});
  BOOST_TEST(on.host.closed.contains(4));
}

BOOST_AUTO_TEST_CASE(a_second_close_notice_ends_the_wait_and_one_that_is_not_final_waits_for_nobody) {
  gateway twice;
  twice.join(1, {0, 4});
  twice.role.on_downward(protocol::close_notice{run_is_over, true});
  twice.role.on_downward(protocol::close_notice{run_is_over, true});
  BOOST_TEST(twice.host.closed.contains(1));
  BOOST_TEST(twice.host.ends == 1);
  gateway once;
  once.join(1, {0, 4});
  once.role.on_downward(protocol::close_notice{"the parent stops", false});
  BOOST_TEST(once.host.closed.contains(1));
  BOOST_TEST(once.host.ends == 1);
}

BOOST_AUTO_TEST_SUITE_END()
