// What the aggregators have done for a round.
#include "federated/protocol/share_book.hpp"

#include <boost/test/unit_test.hpp>

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct round_of_two : share_book {
  static constexpr std::uint32_t east = 1;
  static constexpr std::uint32_t west = 2;
  static task_id task(std::uint32_t client) { return {1, 4, client, 0}; }
  static settlement report_of(std::uint32_t client) {
    settlement report;
    report.id = task(client);
    return report;
  }

  round_of_two() {
    begin_round(3);
    open();
    BOOST_REQUIRE((begin(east) && begin(west)));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(share_books, round_of_two)

BOOST_AUTO_TEST_CASE(an_aggregator_has_one_share_at_a_time) {
  BOOST_TEST(!begin(east));
  BOOST_TEST(!is_awaited(0));
  merge(east);
  BOOST_TEST(!is_awaited(east));
  BOOST_TEST(begin(east));
  BOOST_TEST(is_awaited(east));
}

BOOST_AUTO_TEST_CASE(an_aggregator_that_connects_in_the_round_can_have_a_share) {
  BOOST_TEST(!knows(7));
  BOOST_TEST(!is_awaited(7));
  BOOST_TEST(begin(7));
  BOOST_TEST(is_awaited(7));
  BOOST_TEST(!is_awaited(6));
}

BOOST_AUTO_TEST_CASE(a_share_is_asked_for_once) {
  BOOST_TEST((close(true) == std::vector<std::uint32_t>{east, west}));
  BOOST_TEST(close(true).empty());
  BOOST_TEST(is_closing(east));
  merge(east);
  BOOST_TEST(!is_closing(east));
  BOOST_TEST(begin(east));
  BOOST_TEST((close(true) == std::vector<std::uint32_t>{east}));
  BOOST_TEST(!all_merged());
  merge(east);
  merge(west);
  BOOST_TEST(all_merged());
}

BOOST_AUTO_TEST_CASE(updates_are_lost_until_their_partial_is_merged) {
  aggregate(east, report_of(5));
  aggregate(east, report_of(6));
  aggregate(west, report_of(7));
  merge(west);
  BOOST_TEST(merged().size() == 1U);
  BOOST_TEST(reports(west).empty());
  const auto lost = remove(east, {task(6), task(7)});
  BOOST_TEST(lost.size() == 1U);
  BOOST_TEST((lost.front().id == task(6)));
  BOOST_TEST((aggregated() == std::vector<task_id>{task(5), task(7)}));
  BOOST_TEST((reported_tasks(east) == std::set<task_id>{task(5)}));
}

BOOST_AUTO_TEST_CASE(a_round_that_closes_since_all_has_ended_goes_on_when_an_update_is_lost) {
  await_tasks(1);
  aggregate(east, report_of(5));
  end_task();
  static_cast<void>(close(true));
  BOOST_TEST(remove(east, {task(6)}).empty());
  BOOST_TEST(is_closing());
  BOOST_TEST(remove(east, {task(5)}).size() == 1U);
  BOOST_TEST(is_under_way());
}

BOOST_AUTO_TEST_CASE(a_round_that_closes_at_its_deadline_does_not) {
  await_tasks(2);
  aggregate(east, report_of(5));
  end_task();
  static_cast<void>(close(true));
  BOOST_TEST(remove(east, {task(5)}).size() == 1U);
  BOOST_TEST(is_closing());
}

BOOST_AUTO_TEST_CASE(a_lost_aggregator_is_not_waited_for) {
  lose(east);
  BOOST_TEST(!all_merged());
  BOOST_TEST((close(false) == std::vector<std::uint32_t>{west}));
  lose(west);
  BOOST_TEST(all_merged());
}

BOOST_AUTO_TEST_CASE(the_next_round_begins_with_nothing_but_what_was_rejected_since) {
  aggregate(east, report_of(5));
  merge(east);
  static_cast<void>(close(true));
  end_round();
  BOOST_TEST(!is_open());
  BOOST_TEST(aggregated().empty());
  reject(report_of(8));
  begin_round(2);
  BOOST_TEST(merged().empty());
  BOOST_TEST(all_merged());
  BOOST_TEST(!is_closing());
  BOOST_TEST(take_rejected().size() == 1U);
  BOOST_TEST(take_rejected().empty());
}

BOOST_AUTO_TEST_CASE(each_aggregator_has_a_share_where_clients_are_not_routed) {
  begin_all(2);
  BOOST_TEST(is_open());
  add_client(1, 9);
  BOOST_TEST(clients(1).front() == 9U);
  BOOST_TEST((close(false) == std::vector<std::uint32_t>{0, 1}));
}

BOOST_AUTO_TEST_SUITE_END()
