// The uplink of an aggregator: its sessions with parents, and the relay that lasts as long as one, one event at a time.
#include "federated/processes/uplink.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/processes/admission.hpp"
#include "federated/processes/kernel_choice.hpp"
#include "tests/federated/role_hosts.hpp"

BOOST_AUTO_TEST_SUITE(uplinks)

using namespace furlong;
using namespace furlong::federated::processes;
namespace protocol = federated::protocol;
using federated::virtual_time;

namespace {

constexpr virtual_time second = federated::microseconds_per_second;
constexpr virtual_time first_pause = second / 10;
const auto server = std::string("server:1");

class noting_process final : public tests::noting_host<uplink_surroundings> {
 public:
  std::vector<std::uint64_t> preparations;  ///< runs
  std::vector<std::uint32_t> relays;        ///< by the aggregator's number
  std::vector<protocol::downward> orders;
  std::vector<protocol::close_notice> relay_ends;
  std::vector<std::string> violations;
  std::vector<uplink_end> ends;
  int partials = 0;

  using noting_host::send;
  void send(std::uint64_t, const partial_ptr&) override { ++partials; }
  void prepare(const protocol::welcome& content) override { preparations.push_back(content.run); }
  void open_relay(const protocol::welcome& content) override { relays.push_back(content.aggregator); }
  void tell_relay(protocol::downward&& content) override { orders.push_back(std::move(content)); }
  void close_relay(const protocol::close_notice& notice) override { relay_ends.push_back(notice); }
  void violated(const std::string& why) override { violations.push_back(why); }
  void over(const uplink_end& end) override { ends.push_back(end); }
};

struct aggregator {
  noting_process host;
  uplink role;

  explicit aggregator(virtual_time give_up = 0)
      : role(host, {server, {"test", "west", "west:1"}, give_up},
             backoff([](virtual_time ceiling) { return ceiling / 2; })) {
    role.start();
  }
  [[nodiscard]] session_number session() const { return host.connections.back().first; }
  void open() { role.on_opened(session()); }
  void hear(protocol::control message) { role.on_message(session(), std::move(message)); }
  void welcome(std::uint64_t run = 9) {
    protocol::welcome content;
    content.run = run;
    content.aggregator = 3;
    hear(content);
  }
  /// It has a relay.
  void attach() {
    open();
    welcome();
    role.on_prepared({});
  }
  void lose() { role.on_closed(session(), {"closed by the other side"}); }
  void wait(virtual_time span) {
    host.clock += span;
    role.on_wake();
  }
  [[nodiscard]] std::vector<protocol::close_notice> notices() { return host.take<protocol::close_notice>(session()); }
};

federated::broadcast_ptr model(std::uint64_t version) {
  auto content = std::make_shared<federated::broadcast>();
  content->version = version;
  return content;
}

const error broken{error::kind::runtime, "the rule", "failed", {}};

}  // namespace

BOOST_AUTO_TEST_CASE(an_aggregator_says_hello_with_the_kernels_that_it_has) {
  aggregator on;
  BOOST_TEST_REQUIRE(on.host.connections.size() == 1U);
  BOOST_TEST(on.host.connections[0].second == server);
  on.open();
  const auto hellos = on.host.take<protocol::branch_hello>(on.session());
  BOOST_TEST_REQUIRE(hellos.size() == 1U);
  BOOST_TEST(hellos[0].name == "west");
  BOOST_TEST(hellos[0].kernel_level == own_kernels().level);
  BOOST_TEST(hellos[0].kernel_levels == own_kernels().levels);
}

BOOST_AUTO_TEST_CASE(it_goes_where_it_is_redirected_and_starts_at_the_first_address_when_that_parent_is_lost) {
  aggregator on;
  on.open();
  on.hear(protocol::redirect{"east:2"});
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1}));
  BOOST_TEST_REQUIRE(on.host.connections.size() == 2U);
  BOOST_TEST(on.host.connections[1].second == "east:2");
  on.lose();  // it could not be opened
  on.wait(first_pause - 1);
  BOOST_TEST(on.host.connections.size() == 2U);
  on.wait(1);
  BOOST_TEST_REQUIRE(on.host.connections.size() == 3U);
  BOOST_TEST(on.host.connections[2].second == server);
  BOOST_TEST((on.host.wakes == std::vector<virtual_time>{first_pause}));
}

BOOST_AUTO_TEST_CASE(pauses_grow_until_a_run_is_prepared) {
  aggregator on;
  on.lose();
  on.wait(first_pause);
  on.lose();
  on.wait(first_pause);
  BOOST_TEST(on.host.connections.size() == 2U);
  on.wait(first_pause);
  BOOST_TEST(on.host.connections.size() == 3U);
  on.attach();
  on.lose();
  on.wait(first_pause);
  BOOST_TEST(on.host.connections.size() == 4U);
}

BOOST_AUTO_TEST_CASE(the_parents_messages_wait_until_the_run_is_prepared) {
  aggregator on;
  on.open();
  on.welcome();
  BOOST_TEST((on.host.preparations == std::vector<std::uint64_t>{9}));
  on.role.on_model(on.session(), model(2));
  on.hear(protocol::assignment{9, 2, true, {{4, 0}}});
  on.hear(protocol::checkpointed{2});
  BOOST_TEST(on.host.orders.empty());
  on.role.on_prepared({});
  BOOST_TEST((on.host.relays == std::vector<std::uint32_t>{3}));
  BOOST_TEST(on.host.admissions.contains(on.session()));
  BOOST_TEST_REQUIRE(on.host.orders.size() == 2U);
  const auto* share = std::get_if<protocol::assign>(&on.host.orders[0]);
  BOOST_TEST_REQUIRE(share != nullptr);
  BOOST_TEST(share->from->version == 2U);
  BOOST_TEST(share->tasks.size() == 1U);
  BOOST_TEST(std::holds_alternative<protocol::checkpointed>(on.host.orders[1]));
}

BOOST_AUTO_TEST_CASE(not_more_messages_wait_than_a_parent_has_reason_to_send) {
  aggregator on;
  on.open();
  on.welcome();
  for (int i = 0; i < 1024; ++i) on.hear(protocol::checkpointed{1});
  BOOST_TEST(on.host.violations.empty());
  on.hear(protocol::checkpointed{1});
  BOOST_TEST(on.host.violations.size() == 1U);
  BOOST_TEST(on.host.closed.contains(1));
  on.role.on_prepared({});
  BOOST_TEST(on.host.relays.empty());
  BOOST_TEST(on.host.orders.empty());
}

BOOST_AUTO_TEST_CASE(a_run_that_was_prepared_for_a_session_that_has_ended_opens_no_relay) {
  aggregator on;
  on.open();
  on.welcome();
  on.lose();
  on.wait(first_pause);
  on.open();
  on.welcome(10);
  on.role.on_prepared({});
  BOOST_TEST(on.host.relays.empty());
  on.role.on_prepared({});
  BOOST_TEST(on.host.relays.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_aggregator_that_cannot_run_the_scenario_ends) {
  aggregator on;
  on.open();
  on.welcome();
  on.role.on_prepared(tl::unexpected(broken));
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(on.host.ends[0].failure->reason == "failed");
  BOOST_TEST(on.notices().size() == 1U);
  BOOST_TEST(on.host.closed.contains(1));
}

BOOST_AUTO_TEST_CASE(a_parent_that_violates_the_protocol_is_left) {
  const auto leaves = [](bool attached, protocol::control message) {
    aggregator on;
    if (attached)
      on.attach();
    else
      on.open();
    on.hear(std::move(message));
    BOOST_TEST(on.host.ends.empty());
    BOOST_TEST(on.host.relay_ends.size() == (attached && on.host.violations.size() == 1U ? 1U : 0U));
    BOOST_TEST(on.host.closed.contains(1) == (on.host.violations.size() == 1U));
    return on.host.violations.size() == 1U;
  };
  BOOST_TEST(leaves(false, protocol::checkpointed{1}));
  BOOST_TEST(!leaves(true, protocol::checkpointed{1}));
  BOOST_TEST(leaves(true, protocol::welcome{}));
  BOOST_TEST(leaves(true, protocol::redirect{"east:2"}));
  BOOST_TEST(leaves(true, protocol::assignment{9, 2, true, {}}));
  BOOST_TEST(leaves(true, protocol::evaluation_request{2, {}}));
  BOOST_TEST(leaves(true, protocol::detached{{0, 4}}));
  aggregator early;
  early.open();
  early.role.on_model(1, model(2));
  BOOST_TEST(early.host.violations.size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_relay_reports_goes_up_while_the_session_lasts) {
  aggregator on;
  on.attach();
  on.role.on_upward(protocol::detached{{0, 4}});
  on.role.on_upward(federated::partial_aggregate{});
  BOOST_TEST(on.host.take<protocol::detached>(1).size() == 1U);
  BOOST_TEST(on.host.partials == 1);
  on.lose();
  BOOST_TEST_REQUIRE(on.host.relay_ends.size() == 1U);
  BOOST_TEST(!on.host.relay_ends[0].final);
  on.role.on_upward(protocol::detached{{0, 4}});
  on.role.on_upward(federated::partial_aggregate{});
  on.role.on_relay_ended("it was told to");
  BOOST_TEST(on.host.take<protocol::detached>(1).empty());
  BOOST_TEST(on.host.partials == 1);
  BOOST_TEST(on.host.ends.empty());
}

BOOST_AUTO_TEST_CASE(models_of_an_earlier_session_are_forgotten) {
  aggregator on;
  on.attach();
  on.role.on_model(on.session(), model(2));
  on.lose();
  on.wait(first_pause);
  on.attach();
  on.hear(protocol::assignment{9, 2, true, {}});
  BOOST_TEST(on.host.violations.size() == 1U);
}

BOOST_AUTO_TEST_CASE(at_the_end_of_the_run_the_session_ends_after_the_relay) {
  aggregator on;
  on.attach();
  on.hear(protocol::close_notice{run_is_over, true});
  on.hear(protocol::close_notice{run_is_over, true});
  BOOST_TEST_REQUIRE(on.host.relay_ends.size() == 1U);
  BOOST_TEST(on.host.relay_ends[0].final);
  on.role.on_gateway_ended("its nodes have left");
  on.role.on_upward(protocol::detached{{0, 4}});
  BOOST_TEST(on.host.take<protocol::detached>(1).size() == 1U);
  BOOST_TEST((on.host.closed.empty() && on.host.ends.empty()));
  on.role.on_relay_ended("its children have left");
  BOOST_TEST(on.host.closed.contains(1));
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(!on.host.ends[0].failure.has_value());
  BOOST_TEST(on.notices().empty());
  BOOST_TEST(on.host.relay_ends.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_parent_that_leaves_first_ends_the_wait) {
  aggregator on;
  on.attach();
  on.hear(protocol::close_notice{run_is_over, true});
  on.lose();
  BOOST_TEST(on.host.relay_ends.size() == 2U);
  BOOST_TEST(on.host.relay_ends.back().final);
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(!on.host.ends[0].failure.has_value());
}

BOOST_AUTO_TEST_CASE(an_aggregator_that_is_rejected_has_failed) {
  const auto failure_by = [](bool unwanted, bool failed) {
    aggregator on;
    on.open();
    on.hear(protocol::close_notice{"no", true, unwanted, "do", failed});
    BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
    return on.host.ends[0].failure;
  };
  BOOST_TEST(!failure_by(false, false).has_value());
  BOOST_TEST((failure_by(true, false)->what == error::kind::usage));
  BOOST_TEST((failure_by(false, true)->what == error::kind::runtime));
  aggregator denied;
  denied.role.on_closed(1, {"is on the deny list", true});
  BOOST_TEST_REQUIRE(denied.host.ends.size() == 1U);
  BOOST_TEST((denied.host.ends[0].failure->what == error::kind::usage));
}

BOOST_AUTO_TEST_CASE(a_failure_here_ends_the_run_by_the_parent) {
  aggregator on;
  on.attach();
  on.role.on_run_failure(broken);
  on.role.on_run_failure(broken);
  const auto notices = on.notices();
  BOOST_TEST_REQUIRE(notices.size() == 1U);
  BOOST_TEST((notices[0].failed && !notices[0].final));
  BOOST_TEST(on.host.ends.empty());
  on.lose();
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(on.host.ends[0].failure->reason == "failed");
  aggregator alone;
  alone.role.on_run_failure(broken);
  BOOST_TEST(alone.host.ends.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_failure_that_ends_every_session_ends_the_aggregator) {
  const error reason{error::kind::data, "the frame", "is too short", {}};
  aggregator on;
  for (std::size_t i = 1; i < repeated_failure::most_times; ++i) {
    on.attach();
    on.role.on_undecodable(on.session(), reason);
    on.wait(10 * second);
  }
  BOOST_TEST(on.host.ends.empty());
  on.attach();
  on.role.on_gateway_ended("bad_alloc");  // another one
  on.wait(10 * second);
  BOOST_TEST(on.host.ends.empty());
  for (std::size_t i = 0; i < repeated_failure::most_times; ++i) {
    on.attach();
    on.role.on_relay_ended("bad_alloc");
    on.wait(10 * second);
    if (!on.host.ends.empty()) break;
  }
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(on.host.ends[0].failure->fix == same_build_remedy);
}

BOOST_AUTO_TEST_CASE(an_aggregator_gives_up_after_a_time_without_a_parent) {
  aggregator on(5 * second);
  on.attach();
  on.wait(9 * second);
  BOOST_TEST(on.host.ends.empty());
  on.lose();
  on.wait(5 * second - 1);
  BOOST_TEST(on.host.ends.empty());
  on.wait(1);
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(on.host.ends[0].failure->reason == "no parent for 5.0 s");
  BOOST_TEST((on.host.wakes.front() == 5 * second));
  BOOST_TEST((std::ranges::count(on.host.wakes, 14 * second) == 1));
}

BOOST_AUTO_TEST_CASE(an_aggregator_that_is_stopped_says_so_and_ends_at_once) {
  aggregator on;
  on.attach();
  on.role.on_stop();
  on.role.on_stop();
  const auto notices = on.notices();
  BOOST_TEST_REQUIRE(notices.size() == 1U);
  BOOST_TEST(!notices[0].final);
  BOOST_TEST_REQUIRE(on.host.relay_ends.size() == 1U);
  BOOST_TEST(!on.host.relay_ends[0].final);
  BOOST_TEST(on.host.ends.size() == 1U);
  on.role.on_opened(2);  // an address answers late
  BOOST_TEST(on.host.closed.contains(2));
}

BOOST_AUTO_TEST_SUITE_END()
