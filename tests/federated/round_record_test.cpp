// What is told of a round, and what is kept to go back to its beginning.
#include "federated/protocol/round_record.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/protocol/round_memory.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct recorded_round {
  run_settings settings;
  round_record record{settings};

  recorded_round() { settings.rounds = 6; }
  static open_task task(std::uint32_t client, std::uint64_t version = 0) { return {{1, version, client, 0}, 0, 10}; }

  void end(std::uint32_t client, outcome ending, virtual_time now, std::uint64_t version = 0) {
    settlement made;
    made.id = task(client, version).id;
    made.what = ending;
    record.add_settlement(task(client, version), made, now, version);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(round_records, recorded_round)

BOOST_AUTO_TEST_CASE(events_are_told_in_the_order_of_time_and_once) {
  end(3, outcome::dropped, 50);
  end(2, outcome::folded, 20);
  end(1, outcome::late, 20);
  const auto events = record.take_events();
  BOOST_REQUIRE(events.size() == 2U);
  BOOST_TEST(events[0].what == "late");
  BOOST_TEST(events[0].client.value() == 1U);
  BOOST_TEST(events[0].round == 1U);
  BOOST_TEST(events[1].what == "dropped");
  BOOST_TEST(record.take_events().empty());
}

BOOST_AUTO_TEST_CASE(a_cause_is_that_of_the_very_task_and_of_dropouts_only) {
  record.explain_drop(task(3).id, drop_cause::off);
  record.explain_drop(task(4).id, drop_cause::killed);
  end(3, outcome::dropped, 50);
  end(4, outcome::folded, 60);
  end(3, outcome::dropped, 70);
  end(4, outcome::dropped, 80);
  const auto events = record.take_events();
  BOOST_REQUIRE(events.size() == 3U);
  BOOST_TEST(events[0].cause == "off");
  BOOST_TEST(events[1].cause.empty());
  BOOST_TEST(events[2].cause.empty());
}

BOOST_AUTO_TEST_CASE(the_first_and_the_middle_round_have_a_timeline) {
  for (std::uint64_t version = 0; version < settings.rounds; ++version) {
    end(1, outcome::folded, 20, version);
    record.add_in_flight({task(2, version), task(3, version + 1)}, version);
    const auto report = record.take_report();
    BOOST_TEST_CONTEXT("version " << version) {
      BOOST_REQUIRE(report.spans.size() == (version == 0 || version == 3 ? 2U : 0U));
      if (report.spans.empty()) continue;
      BOOST_TEST(report.spans[0].ended_at.value() == 20U);
      BOOST_TEST(report.spans[1].client == 2U);  // the other task is of another round
      BOOST_TEST((report.spans[1].what == outcome::late));
    }
  }
}

BOOST_AUTO_TEST_CASE(under_noise_no_round_has_a_timeline) {
  settings.privacy->noise = 1.0;
  end(1, outcome::folded, 20);
  BOOST_TEST(record.take_report().spans.empty());
}

BOOST_AUTO_TEST_CASE(an_abandoned_round_has_no_aggregated_task) {
  end(1, outcome::folded, 20);
  end(2, outcome::late, 30);
  record.abandon(1, "too few", 40, 0);
  const auto report = record.take_report();
  BOOST_TEST(report.gave_up);
  BOOST_TEST(report.abandoned == 1U);
  BOOST_TEST((report.spans[0].what == outcome::abandoned));
  BOOST_TEST((report.spans[1].what == outcome::late));
  BOOST_TEST(record.take_events().back().detail == "too few");
}

BOOST_AUTO_TEST_CASE(a_round_can_be_taken_back_to_its_beginning) {
  server_state state;
  state.now = 30;
  state.counts.selected = 4;
  round_memory memory(state.counts);
  memory.begin_round(state, {task(1)});
  state.now = 90;
  state.counts.selected = 9;
  memory.restore_beginning(state);
  BOOST_TEST(state.now == 30U);
  BOOST_TEST(state.counts.selected == 4U);
  BOOST_TEST((state.open == std::vector<open_task>{task(1)}));
}

BOOST_AUTO_TEST_CASE(tasks_that_ended_since_the_last_round_are_open_at_its_end) {
  server_state state;
  round_memory memory(state.counts);
  memory.end_task(task(1));
  state.counts.late = 1;
  memory.close_round(state.counts);
  memory.end_task(task(2));
  state.counts.late = 2;
  state.open = {task(3)};
  BOOST_TEST(memory.ended().size() == 1U);
  memory.restore_closed(state);
  BOOST_TEST(state.counts.late == 1U);
  BOOST_TEST((state.open == std::vector<open_task>{task(3), task(2)}));
}

BOOST_AUTO_TEST_SUITE_END()
