// The role of a relay: what it passes on between the parent, its own gateway and other aggregators, and when it ends.
#include "federated/processes/relay_role.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/processes/admission.hpp"
#include "tests/federated/role_hosts.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(relay_roles)

using namespace furlong;
using namespace furlong::federated::processes;
namespace protocol = federated::protocol;
using federated::client_range;

namespace {

constexpr std::uint32_t relay_number = 7;
constexpr client_range half{0, 11};

class noting_process final : public relay_surroundings {
 public:
  children* below = nullptr;
  std::vector<protocol::upward> reports;
  std::vector<protocol::downward> orders;  ///< to the gateway
  std::vector<std::pair<std::uint32_t, std::string>> violations;
  std::vector<std::string> failures;
  std::vector<protocol::close_notice> ends;

  children& known() override { return *below; }
  void tell_parent(protocol::upward&& content) override { reports.push_back(std::move(content)); }
  void tell_gateway(protocol::downward&& content) override { orders.push_back(std::move(content)); }
  void violated(std::uint32_t child, const std::string& reason) override { violations.emplace_back(child, reason); }
  void fail_run(const error& reason) override { failures.push_back(reason.reason); }
  void end(const protocol::close_notice& notice) override { ends.push_back(notice); }
  void log(log_level, const std::string&) override {}
};

struct relay {
  federated::experiment e = tests::make_experiment({}, tests::make_ratings(24), {}, {});
  noting_process host;
  tests::noting_host<surroundings> sessions;
  relay_role role{e, welcome(), host};
  children below{sessions, role, 24};

  relay() { host.below = &below; }
  [[nodiscard]] protocol::welcome welcome() const {
    protocol::welcome content;
    content.run = e.run;
    content.facts = e.clients->facts();
    content.aggregator = relay_number;
    return content;
  }
  /// An aggregator attaches. Returns its welcome.
  protocol::welcome attach(session_number session) {
    below.on_opened(session, {"west", "host:1", true});
    const auto own = own_kernels();
    below.on_message(session, protocol::branch_hello{"test", "west", "west:1", "west:2", own.level, own.levels});
    const auto welcomes = sessions.take<protocol::welcome>(session);
    BOOST_TEST_REQUIRE(welcomes.size() == 1U);
    return welcomes[0];
  }
  [[nodiscard]] std::vector<protocol::close_notice> notices(session_number session) {
    return sessions.take<protocol::close_notice>(session);
  }
  /// The last order to the gateway if it is of that kind.
  template <class Order>
  [[nodiscard]] const Order* last_order() const {
    return host.orders.empty() ? nullptr : std::get_if<Order>(&host.orders.back());
  }
};

/// No relay has been asked for it.
protocol::settled unsound_report(const federated::experiment& e) {
  federated::settlement folded;
  folded.id = {e.run, 0, 3, 0};
  folded.what = federated::outcome::folded;
  return {{folded}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_aggregator_below_is_welcomed_by_the_state_of_the_parents_welcome) {
  relay on;
  BOOST_TEST(on.attach(1).covered == 0U);
  on.role.on_downward(protocol::checkpointed{5});
  const auto welcome = on.attach(2);
  BOOST_TEST(welcome.covered == 5U);
  BOOST_TEST(welcome.aggregator == 2U);
  BOOST_TEST(welcome.run == on.e.run);
  BOOST_TEST(on.sessions.take<protocol::checkpointed>(2).empty());  // it knows
}

BOOST_AUTO_TEST_CASE(what_children_report_goes_up_and_orders_go_to_all_of_them) {
  relay on;
  on.attach(1);
  on.role.hear(own_gateway_number, protocol::attached{half, {}});
  on.below.on_message(1, protocol::attached{{12, 23}, {}});
  BOOST_TEST(on.host.reports.size() == 2U);
  on.role.on_downward(protocol::checkpointed{3});
  BOOST_TEST_REQUIRE(on.last_order<protocol::checkpointed>() != nullptr);
  BOOST_TEST(on.sessions.take<protocol::checkpointed>(1).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_node_goes_to_the_gateway_with_fewer) {
  relay on;
  const auto own = own_kernels();
  BOOST_TEST(on.role.place_node({1, "", half, {}, own}).address.empty());
  on.role.hear(own_gateway_number, protocol::attached{half, {}});
  on.attach(1);
  const auto place = on.role.place_node({2, "", {12, 23}, {}, own});
  BOOST_TEST(place.address == "west:1");
  BOOST_TEST(place.session == 2U);
}

BOOST_AUTO_TEST_CASE(processes_with_other_kernels_have_no_place) {
  relay on;
  on.e.settings.network->kernels = federated::kernel_rule::same;
  const kernel_offer strange{"another", "another"};
  BOOST_TEST(on.role.place_node({1, "", half, {}, strange}).other_kernels.has_value());
  BOOST_TEST(!on.role.place_node({1, "", half, {}, own_kernels()}).other_kernels.has_value());
  on.below.on_opened(2, {});
  on.below.on_message(2, protocol::branch_hello{"test", "west", "west:1", "", "another", "another"});
  BOOST_TEST(on.sessions.take<protocol::welcome>(2).empty());
  BOOST_TEST(on.below.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_child_that_violates_the_protocol_is_dropped_and_its_clients_are_away) {
  relay on;
  on.attach(1);
  on.below.on_message(1, protocol::attached{half, {}});
  on.host.reports.clear();
  on.below.on_message(1, unsound_report(on.e));
  BOOST_TEST_REQUIRE(on.host.violations.size() == 1U);
  BOOST_TEST(on.host.violations[0].first == 1U);
  const auto notices = on.notices(1);
  BOOST_TEST_REQUIRE(notices.size() == 1U);
  BOOST_TEST(!notices[0].final);
  BOOST_TEST(notices[0].why == on.host.violations[0].second);
  BOOST_TEST(on.sessions.closed.contains(1));
  BOOST_TEST_REQUIRE(!on.host.reports.empty());
  BOOST_TEST(std::holds_alternative<protocol::detached>(on.host.reports.front()));
  BOOST_TEST(on.host.ends.empty());
}

BOOST_AUTO_TEST_CASE(its_own_gateway_is_dropped_likewise_and_hears_nothing_more) {
  relay on;
  on.role.hear(own_gateway_number, protocol::attached{half, {}});
  on.role.hear(own_gateway_number, unsound_report(on.e));
  BOOST_TEST(on.host.violations.size() == 1U);
  const auto* notice = on.last_order<protocol::close_notice>();
  BOOST_TEST_REQUIRE(notice != nullptr);
  BOOST_TEST(!notice->final);
  const auto told = on.host.orders.size();
  const auto reported = on.host.reports.size();
  on.role.on_downward(protocol::checkpointed{3});
  on.role.hear(own_gateway_number, protocol::attached{half, {}});
  on.role.on_gateway_ended("its actor ended");
  BOOST_TEST(on.host.orders.size() == told);
  BOOST_TEST(on.host.reports.size() == reported);
}

BOOST_AUTO_TEST_CASE(a_child_that_is_gone_takes_its_clients_with_it) {
  relay on;
  on.attach(1);
  on.below.on_message(1, protocol::attached{half, {}});
  on.role.hear(own_gateway_number, protocol::attached{{12, 23}, {}});
  on.host.reports.clear();
  on.below.on_closed(1, {"closed by the other side"});
  on.role.on_gateway_ended("its actor ended");
  BOOST_TEST(on.host.violations.empty());
  std::vector<client_range> away;
  for (const auto& report : on.host.reports)
    if (const auto* gone = std::get_if<protocol::detached>(&report)) away.push_back(gone->clients);
  BOOST_TEST((away == std::vector<client_range>{half, {12, 23}}));
  BOOST_TEST(on.host.ends.empty());  // others may come
}

BOOST_AUTO_TEST_CASE(the_end_of_the_run_waits_for_gateway_and_children) {
  relay on;
  on.attach(1);
  const protocol::close_notice over{run_is_over, true};
  on.role.on_downward(over);
  BOOST_TEST(on.last_order<protocol::close_notice>() != nullptr);
  BOOST_TEST(on.notices(1).size() == 1U);
  BOOST_TEST(!on.sessions.closed.contains(1));
  on.role.on_gateway_ended("its nodes have left");
  BOOST_TEST(on.host.ends.empty());
  on.below.on_closed(1, {"closed by the other side"});
  BOOST_TEST_REQUIRE(on.host.ends.size() == 1U);
  BOOST_TEST(on.host.ends[0].final);
  on.role.on_downward(over);
  BOOST_TEST(on.host.ends.size() == 1U);
}

BOOST_AUTO_TEST_CASE(without_children_the_gateway_alone_is_waited_for) {
  relay on;
  on.role.on_downward(protocol::close_notice{run_is_over, true});
  BOOST_TEST(on.host.ends.empty());
  on.role.on_gateway_ended("its nodes have left");
  BOOST_TEST(on.host.ends.size() == 1U);
  relay alone;
  alone.role.on_gateway_ended("its actor ended");
  alone.role.on_downward(protocol::close_notice{run_is_over, true});
  BOOST_TEST(alone.host.ends.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_second_notice_ends_the_wait_and_any_other_than_the_last_ends_at_once) {
  relay on;
  on.attach(1);
  on.below.on_opened(2, {});
  const protocol::close_notice over{run_is_over, true};
  on.role.on_downward(over);
  on.role.on_downward(over);
  BOOST_TEST(on.host.ends.size() == 1U);
  BOOST_TEST((on.sessions.closed == std::set<std::uint64_t>{1, 2}));
  relay lost;
  lost.attach(1);
  lost.role.on_downward(protocol::close_notice{"the parent is lost", false});
  BOOST_TEST_REQUIRE(lost.host.ends.size() == 1U);
  BOOST_TEST(!lost.host.ends[0].final);
  BOOST_TEST(lost.sessions.closed.contains(1));
  BOOST_TEST(lost.last_order<protocol::close_notice>() != nullptr);
}

BOOST_AUTO_TEST_CASE(a_failure_of_a_child_is_one_of_the_run) {
  relay on;
  on.attach(1);
  protocol::close_notice failure{"the rule failed", false};
  failure.failed = true;
  on.below.on_message(1, failure);
  BOOST_TEST_REQUIRE(on.host.failures.size() == 1U);
  BOOST_TEST(on.host.failures[0] == "the rule failed");
  BOOST_TEST(on.host.ends.empty());
}

BOOST_AUTO_TEST_SUITE_END()
