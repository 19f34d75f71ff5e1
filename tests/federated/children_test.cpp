// The aggregators below a process: who is admitted, and what becomes of their messages, one event at a time.
#include "federated/processes/children.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/processes/admission.hpp"
#include "tests/federated/role_hosts.hpp"

BOOST_AUTO_TEST_SUITE(children_roles)

using namespace furlong;
using namespace furlong::federated::processes;
namespace protocol = federated::protocol;

namespace {

constexpr std::uint64_t population = 24;

class noting_parent final : public children_parent {
 public:
  std::optional<std::string> other_kernels;
  protocol::aggregator_place room;
  std::vector<std::pair<std::uint32_t, protocol::upward>> reports;
  std::vector<std::pair<std::uint32_t, std::string>> losses;
  std::vector<std::string> failures;
  std::uint32_t last = 0;

  std::optional<std::string> judge_kernels(const kernel_offer&) override { return other_kernels; }
  protocol::aggregator_place place(const protocol::branch_hello&) override { return room; }
  protocol::welcome add(const protocol::branch_hello&) override {
    protocol::welcome content;
    content.aggregator = ++last;
    return content;
  }
  void hear(std::uint32_t child, protocol::upward&& content) override {
    reports.emplace_back(child, std::move(content));
  }
  void lose(std::uint32_t child, const std::string& reason) override { losses.emplace_back(child, reason); }
  void fail_run(const error& reason) override { failures.push_back(reason.reason); }
};

struct stage {
  tests::noting_host<surroundings> host;
  noting_parent parent;
  children below{host, parent, population};

  void hello(session_number session) {
    below.on_opened(session, {"west", "host:1", true});
    below.on_message(session, protocol::branch_hello{"test", "west", "west:1", "west:2"});
  }
  [[nodiscard]] protocol::close_notice last_notice(session_number session) {
    const auto notices = host.take<protocol::close_notice>(session);
    return notices.empty() ? protocol::close_notice{"none"} : notices.back();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_aggregator_for_which_there_is_room_is_welcome_under_its_number) {
  stage on;
  on.hello(7);
  const auto welcomes = on.host.take<protocol::welcome>(7);
  BOOST_TEST_REQUIRE(welcomes.size() == 1U);
  BOOST_TEST(welcomes[0].aggregator == 1U);
  BOOST_TEST(on.host.admissions.contains(7));
  BOOST_TEST((on.below.contains(1) && on.below.size() == 1));
  on.below.on_message(7, protocol::detached{{0, 4}});
  on.below.on_partial(7, {});
  BOOST_TEST_REQUIRE(on.parent.reports.size() == 2U);
  BOOST_TEST(on.parent.reports[0].first == 1U);
  BOOST_TEST(std::holds_alternative<protocol::detached>(on.parent.reports[0].second));
  BOOST_TEST(std::holds_alternative<federated::partial_aggregate>(on.parent.reports[1].second));
}

BOOST_AUTO_TEST_CASE(one_without_a_place_is_redirected_or_comes_back_later) {
  stage on;
  on.parent.room = {false, "east:2"};
  on.hello(1);
  const auto redirects = on.host.take<protocol::redirect>(1);
  BOOST_TEST_REQUIRE(redirects.size() == 1U);
  BOOST_TEST(redirects[0].address == "east:2");
  on.parent.room = {false, ""};
  on.hello(2);
  const auto notice = on.last_notice(2);
  BOOST_TEST(notice.why == no_room);
  BOOST_TEST(!notice.final);
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1, 2}));
  BOOST_TEST(on.below.size() == 0U);
  BOOST_TEST(on.parent.losses.empty());
}

BOOST_AUTO_TEST_CASE(one_with_other_kernels_is_refused_for_good) {
  stage on;
  on.parent.other_kernels = "its kernels differ";
  on.hello(1);
  const auto notice = on.last_notice(1);
  BOOST_TEST((notice.final && notice.unwanted && notice.remedy == same_kernels_remedy));
  BOOST_TEST(on.host.closed.contains(1));
  BOOST_TEST(on.parent.last == 0U);
}

BOOST_AUTO_TEST_CASE(a_hello_comes_first_and_once) {
  stage on;
  on.below.on_opened(1, {});
  on.below.on_message(1, protocol::detached{{0, 4}});
  on.below.on_opened(2, {});
  on.below.on_partial(2, {});
  on.hello(3);
  on.below.on_message(3, protocol::branch_hello{"test", "west", "west:1"});
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1, 2, 3}));
  BOOST_TEST(on.parent.reports.empty());
  BOOST_TEST_REQUIRE(on.parent.losses.size() == 1U);  // the others were no children
  BOOST_TEST(on.parent.losses[0].first == 1U);
}

BOOST_AUTO_TEST_CASE(an_aggregator_reports_no_nodes_of_clients_that_there_are_not) {
  const auto report = [](federated::client_range clients, std::size_t sizes) {
    stage on;
    on.hello(1);
    protocol::attached node{clients, {}, "node", 7, {}, {}, std::vector<protocol::client_sizes>(sizes)};
    on.below.on_message(1, std::move(node));
    BOOST_TEST(on.host.closed.empty() == !on.parent.reports.empty());
    return on.parent.reports.size() == 1U;
  };
  constexpr std::uint32_t last = population - 1;
  BOOST_TEST(!report({0, last + 1}, 0));
  BOOST_TEST(!report({last + 1, last + 1}, 1));
  BOOST_TEST(!report({0, ~0U}, 0));
  BOOST_TEST(!report({4, 3}, 0));
  BOOST_TEST(!report({3, 3}, 2));
  BOOST_TEST(report({0, last}, last + 1));
}

BOOST_AUTO_TEST_CASE(messages_of_others_end_the_session_and_the_child_is_lost) {
  stage on;
  on.hello(1);
  on.below.on_message(1, protocol::redirect{"east:1"});
  on.hello(2);
  on.below.on_unexpected(2);
  on.hello(3);
  on.below.on_undecodable(3, error{error::kind::data, "the frame", "is too short", ""});
  on.hello(4);
  on.below.on_closed(4, {"closed by the other side"});
  BOOST_TEST(on.parent.losses.size() == 4U);
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1, 2, 3}));
  BOOST_TEST(on.below.size() == 0U);
  on.below.on_closed(4, {"again"});
  BOOST_TEST(on.parent.losses.size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_child_leaves_by_a_close_notice_or_says_that_the_run_has_failed) {
  stage on;
  on.hello(1);
  protocol::close_notice failure{"the rule failed", false};
  failure.failed = true;
  on.below.on_message(1, failure);
  BOOST_TEST_REQUIRE(on.parent.failures.size() == 1U);
  BOOST_TEST(on.parent.failures[0] == "the rule failed");
  BOOST_TEST(on.parent.losses.empty());  // it ends by the answer
  on.below.on_message(1, protocol::close_notice{"stopped", false});
  BOOST_TEST_REQUIRE(on.parent.losses.size() == 1U);
  BOOST_TEST(on.parent.losses[0].second == "stopped");
  on.below.on_opened(2, {});
  on.below.on_message(2, failure);  // of nobody who takes part
  BOOST_TEST(on.parent.failures.size() == 1U);
  BOOST_TEST(on.host.closed.contains(2));
}

BOOST_AUTO_TEST_CASE(a_child_that_is_dropped_hears_why_and_is_gone) {
  stage on;
  on.hello(1);
  on.hello(2);
  on.below.drop(1, "sent an overlapping partial");
  BOOST_TEST(on.last_notice(1).why == "sent an overlapping partial");
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1}));
  BOOST_TEST(!on.below.contains(1));
  BOOST_TEST(on.parent.losses.empty());  // the parent knows
  on.below.send(1, protocol::checkpointed{3});
  BOOST_TEST(on.host.take<protocol::checkpointed>(1).empty());
  on.below.send(2, protocol::checkpointed{3});
  BOOST_TEST(on.host.take<protocol::checkpointed>(2).size() == 1U);
}

BOOST_AUTO_TEST_CASE(at_the_end_children_close_their_sessions_themselves_and_late_ones_hear_it) {
  stage on;
  on.hello(1);
  on.below.leave();
  on.below.send(1, protocol::close_notice{run_is_over, true});
  BOOST_TEST(on.host.closed.empty());
  on.hello(2);
  BOOST_TEST(on.last_notice(2).final);
  on.below.on_opened(3, {});
  on.below.end_all(protocol::close_notice{run_is_over, true});
  BOOST_TEST(on.last_notice(3).final);  // it was not admitted
  BOOST_TEST((on.host.closed == std::set<std::uint64_t>{1, 2, 3}));
  BOOST_TEST(on.below.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
