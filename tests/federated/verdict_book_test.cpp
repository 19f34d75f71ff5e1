// What a server knows of updates whose clients do not know their end.
#include "federated/protocol/verdict_book.hpp"

#include <boost/test/unit_test.hpp>

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct verdicts_to_give : verdict_book {
  static constexpr std::uint64_t run = 7;
  static task_id task(std::uint64_t version, std::uint32_t client) { return {run, version, client, 0}; }
  static bool is_only(const std::vector<task_id>& tasks, const task_id& expected) {
    return tasks == std::vector<task_id>{expected};
  }

  participation_ledger ledger{10};

  /// This client's update on the model of a version went into the next one.
  void add_update(std::uint32_t client, std::uint64_t version) {
    add_to_model({task(version, client)}, version);
    ledger.touch(client).folded_version = static_cast<std::uint32_t>(version + 1);
  }
  [[nodiscard]] held_updates judge_listed(const std::vector<task_id>& listed) { return judge(listed, run, ledger); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(verdict_books, verdicts_to_give)

BOOST_AUTO_TEST_CASE(an_unused_task_is_mentioned_once) {
  add_unused(task(1, 2));
  add_rejected(task(1, 3), rejection::not_finite);
  BOOST_TEST(is_only(take_unused(), task(1, 2)));
  BOOST_TEST(is_only(take_rejected().at(rejection::not_finite), task(1, 3)));
  BOOST_TEST(take_unused().empty());
  BOOST_TEST(take_rejected().empty());
}

BOOST_AUTO_TEST_CASE(an_update_in_a_model_is_unsaved_until_the_next_checkpoint) {
  add_update(2, 4);
  BOOST_TEST(unsaved() == 1U);
  const auto before = judge_listed({task(4, 2)});
  BOOST_TEST(is_only(before.unsaved.at(4), task(4, 2)));
  BOOST_TEST(before.durable.empty());
  BOOST_TEST(is_only(take_saved().durable, task(4, 2)));
  BOOST_TEST(unsaved() == 0U);
  const auto after = judge_listed({task(4, 2)});
  BOOST_TEST(after.unsaved.empty());
  BOOST_TEST(is_only(after.durable, task(4, 2)));
  BOOST_TEST(take_unused().empty());
}

BOOST_AUTO_TEST_CASE(a_task_that_no_model_has_is_unused) {
  BOOST_TEST(judge_listed({task(4, 2)}).durable.empty());
  BOOST_TEST(is_only(take_unused(), task(4, 2)));
}

BOOST_AUTO_TEST_CASE(a_made_up_task_is_unused) {
  add_update(2, 4);
  const std::vector<task_id> made_up{task(4, 999), task(UINT64_MAX, 3), {run + 1, 4, 2, 0}};
  BOOST_TEST(judge_listed(made_up).durable.empty());
  BOOST_TEST((take_unused() == made_up));
}

BOOST_AUTO_TEST_CASE(an_earlier_update_is_obsolete_once_the_later_one_is_durable) {
  add_update(2, 4);
  const auto held = judge_listed({task(1, 2), task(4, 2)});
  BOOST_TEST(held.durable.empty());
  BOOST_TEST(take_unused().empty());
  const auto saved = take_saved();
  BOOST_TEST(is_only(saved.durable, task(4, 2)));
  BOOST_TEST(is_only(saved.obsolete, task(1, 2)));
  BOOST_TEST(take_saved().obsolete.empty());
}

BOOST_AUTO_TEST_CASE(an_unsaved_update_of_another_client_hides_nothing) {
  add_update(2, 4);
  add_update(3, 4);
  static_cast<void>(take_saved());
  add_to_model({task(4, 3)}, 4);
  BOOST_TEST(judge_listed({task(1, 2)}).durable.empty());
  BOOST_TEST(is_only(take_unused(), task(1, 2)));
}

BOOST_AUTO_TEST_CASE(of_many_earlier_tasks_the_newest_are_kept) {
  constexpr std::uint64_t tasks = 200;
  add_update(2, tasks);
  std::vector<task_id> listed;
  for (std::uint64_t version = 0; version < tasks; ++version) listed.push_back(task(version, 2));
  static_cast<void>(judge_listed(listed));
  const auto obsolete = take_saved().obsolete;
  BOOST_TEST(obsolete.size() == 64U);
  BOOST_TEST(obsolete.back().version == tasks - 1);
}

BOOST_AUTO_TEST_SUITE_END()
