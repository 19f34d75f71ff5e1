// Which tasks are open, and where they are.
#include "federated/protocol/task_book.hpp"

#include <boost/test/unit_test.hpp>

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct open_tasks : task_book {
  static constexpr std::uint32_t gateway = 3;
  static constexpr std::uint64_t process = 77;
  static task_id task(std::uint32_t client, std::uint32_t attempt = 0) { return {1, 4, client, attempt}; }

  open_task& open_at(std::uint32_t client, std::uint32_t aggregator = gateway) {
    return open({task(client), aggregator, 10});
  }
  [[nodiscard]] bool is_lost(std::uint32_t client) const { return lost_clients().contains(client); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(task_books, open_tasks)

BOOST_AUTO_TEST_CASE(a_task_is_found_until_it_ends) {
  open_at(5);
  BOOST_TEST(contains(task(5)));
  BOOST_TEST(!contains(task(5, 1)));
  BOOST_TEST(find(5)->started_at == 10U);
  BOOST_TEST(find(task(5, 1)) == nullptr);
  end(task(5));
  BOOST_TEST(!contains(5));
  BOOST_TEST(empty());
}

BOOST_AUTO_TEST_CASE(tasks_are_listed_by_client) {
  for (const std::uint32_t client : {9U, 2U, 700U, 4U}) open_at(client, client % 2);
  std::vector<std::uint32_t> clients;
  for (const auto& open : between(3, 700)) clients.push_back(open.id.client);
  BOOST_TEST((clients == std::vector<std::uint32_t>{4, 9, 700}));
  BOOST_TEST((tasks_with(0) == std::vector<task_id>{task(2), task(4), task(700)}));
  BOOST_TEST(by_client().size() == 4U);
}

BOOST_AUTO_TEST_CASE(tasks_are_closed_once) {
  open_at(2);
  BOOST_TEST(close(true).size() == 1U);
  open_at(3);
  BOOST_TEST(close(false).size() == 1U);
  BOOST_TEST(find(2)->surplus);
  BOOST_TEST(!find(3)->surplus);
}

BOOST_AUTO_TEST_CASE(an_orphaned_task_is_lost_until_it_is_assigned) {
  auto& open = open_at(5);
  orphan(open, 20);
  BOOST_TEST(open.aggregator == nowhere);
  BOOST_TEST(lost_clients().at(5).since == 20U);
  BOOST_TEST((lost_clients().at(5).stage == drop_stage::download));  // nobody had it
  assign(open, gateway, process);
  BOOST_TEST(!is_lost(5));
  orphan(open, 30);
  BOOST_TEST((lost_clients().at(5).stage == drop_stage::train));
  end(open.id);
  BOOST_TEST(!is_lost(5));
}

BOOST_AUTO_TEST_CASE(a_lost_update_drops_out_on_its_way_however_often_its_client_is_away) {
  auto& open = open_at(5);
  lose_update(5, 20);
  orphan(open, 40);
  BOOST_TEST(lost_clients().at(5).since == 40U);
  BOOST_TEST((lost_clients().at(5).stage == drop_stage::upload));
}

BOOST_AUTO_TEST_CASE(a_task_that_awaits_a_share_has_no_timeout) {
  orphan(open_at(5), 20);
  orphan(open_at(6), 20);
  await_share(6);
  BOOST_TEST(is_lost(5));
  BOOST_TEST(!is_lost(6));
  end(task(5));
  BOOST_TEST(!begin_timeout());
  BOOST_TEST((take_awaiting_share() == std::set<std::uint32_t>{6}));
  BOOST_TEST(is_lost(6));
  BOOST_TEST(begin_timeout());
  BOOST_TEST(!begin_timeout());  // one is running
  end_timeout();
  BOOST_TEST(begin_timeout());
}

BOOST_AUTO_TEST_CASE(a_task_is_withdrawn_once_until_it_is_given_back) {
  auto& open = open_at(5);
  BOOST_TEST(withdraw(open.id));
  BOOST_TEST(!withdraw(open.id));
  BOOST_TEST(open.aggregator == gateway);
  give_back(open);
  BOOST_TEST(open.aggregator == nowhere);
  BOOST_TEST(withdraw(open.id));
  end(task(5));
  open_at(5);
  BOOST_TEST(withdraw(task(5)));
}

BOOST_AUTO_TEST_CASE(a_holder_is_lost_with_its_process) {
  BOOST_TEST(!has_lost_holder(5, process));  // nobody has the task
  assign(open_at(5), gateway, process);
  BOOST_TEST(!has_lost_holder(5, process));
  BOOST_TEST(has_lost_holder(5, process + 1));
  end(task(5));  // with an update, which can be lost
  BOOST_TEST(has_lost_holder(5, process + 1));
  remove_holder(5);
  BOOST_TEST(!has_lost_holder(5, process + 1));
}

BOOST_AUTO_TEST_SUITE_END()
