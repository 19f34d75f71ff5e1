#include "tools/dashboard/status_board.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/dashboard/sample.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(status_board_suite)

using namespace tools::dashboard;

BOOST_AUTO_TEST_CASE(silence_lasts_from_the_last_publication) {
  still_clocks time;
  status_board board(time.clocks());
  BOOST_TEST(!board.snapshot().published);
  time.steady = 12.0;
  BOOST_TEST(board.silence() == 12.0);
  board.publish(sample_live(sample_now, false));
  BOOST_TEST(board.silence() == 0.0);
  time.steady = 14.5;
  const auto status = board.snapshot();
  BOOST_TEST(status.published);
  BOOST_TEST(status.published_age == 2.5);
  BOOST_TEST(status.now == sample_now);
  BOOST_TEST(status.live.scenario == "films-furl");
}

BOOST_AUTO_TEST_CASE(a_round_report_becomes_a_record) {
  still_clocks time;
  status_board board(time.clocks());
  auto report = sample_round(29);  // two refused
  board.round_ended(report, 3.5);
  board.round_ended(sample_round(63), 4.0);  // gave up
  const auto rounds = board.rounds_since(0);
  BOOST_REQUIRE(rounds.size() == 2);
  BOOST_TEST(rounds[0].last == 29);
  BOOST_TEST(rounds[0].seconds == 3.5);
  BOOST_TEST(rounds[0].ended_at == sample_now);
  BOOST_TEST(rounds[0].rejected[static_cast<std::size_t>(federated::rejection::not_finite)] == 1);
  BOOST_TEST(rounds[0].rejected[static_cast<std::size_t>(federated::rejection::norm_bound)] == 1);
  BOOST_TEST(rounds[0].dropped[1] == report.dropped[1]);
  BOOST_TEST(rounds[0].applied == 1);
  BOOST_TEST(rounds[1].gave_up == 1);
  BOOST_TEST(rounds[1].applied == 0);
  BOOST_TEST(rounds[1].abandoned > 0);
  BOOST_TEST(board.rounds_since(30).size() == 1);
}

BOOST_AUTO_TEST_CASE(events_are_numbered_and_only_the_newest_are_kept) {
  still_clocks time;
  status_board board(time.clocks());
  for (int i = 0; i < 1200; ++i) board.happened({0, 0, severity::info, 0, "join", "node", {}});
  const auto events = board.snapshot().events;
  BOOST_REQUIRE(events.size() == status_board::most_events);
  BOOST_TEST(events.front().number == 701);
  BOOST_TEST(events.back().number == 1200);
  BOOST_TEST(events.back().time == sample_now);
}

// Rounds may be many times faster than publications.
BOOST_AUTO_TEST_CASE(an_answer_is_of_one_moment) {
  still_clocks time;
  status_board board(time.clocks());
  const auto pass = [&](std::uint64_t version) {
    board.round_ended(sample_round(version), 1.0);
    board.evaluated(sample_evaluation(version));
    board.happened({0, 0, severity::info, version, "join", "node", {}});
  };
  pass(1);
  auto live = sample_live(sample_now, false);
  live.round = 2;
  board.publish(live);
  pass(2);
  pass(3);
  const auto status = board.snapshot();
  BOOST_TEST(status.live.round == 2);
  BOOST_TEST(status.rounds.back().last == 1);
  BOOST_TEST(status.learning.back().version == 1);
  BOOST_TEST(status.events.back().round == 1);
  BOOST_TEST(board.rounds_since(0).back().last == 3);  // which says nothing of anything else
  live.round = 4;
  board.publish(live);
  BOOST_TEST(board.snapshot().rounds.back().last == 3);
  BOOST_TEST(board.snapshot().events.size() == 3);
}

BOOST_AUTO_TEST_CASE(what_the_protocol_writes_down_becomes_an_event) {
  still_clocks time;
  status_board board(time.clocks());
  board.happened(federated::run_event{7, 3, "rejected", 12, {}, "norm-bound"});
  board.happened(federated::run_event{9, 4, "dropped", 10, 20, "train"});
  board.happened(federated::run_event{9, 4, "join", {}, {}, {}});
  const auto events = board.snapshot().events;
  BOOST_REQUIRE(events.size() == 3);
  BOOST_TEST((events[0].level == severity::fault));
  BOOST_TEST(events[0].subject == "client 12");
  BOOST_TEST(events[0].detail == "norm-bound");
  BOOST_TEST(events[0].round == 3);
  BOOST_TEST((events[1].level == severity::warning));
  BOOST_TEST(events[1].subject == "clients 10-20");
  BOOST_TEST((events[2].level == severity::info));
  BOOST_TEST(events[2].subject.empty());
}

BOOST_AUTO_TEST_CASE(the_learning_curve_thins_out_evenly_and_ends_with_the_newest) {
  still_clocks time;
  status_board board(time.clocks());
  for (std::uint64_t version = 1; version <= 9'500; ++version) {
    board.evaluated(sample_evaluation(version));
    if (version % 97 != 0 && version != 9'500) continue;
    const auto points = board.snapshot().learning;
    BOOST_REQUIRE(points.size() <= status_board::most_points);
    BOOST_REQUIRE_EQUAL(points.front().version, 1);
    BOOST_REQUIRE_EQUAL(points.back().version, version);
    const auto step = points.size() > 2 ? points[1].version - points[0].version : 1;
    for (std::size_t i = 1; i + 1 < points.size(); ++i)
      BOOST_REQUIRE_EQUAL(points[i].version - points[i - 1].version, step);
  }
  BOOST_TEST(board.snapshot().learning.size() > 400);
}

BOOST_AUTO_TEST_CASE(staleness_adds_up_and_its_tail_is_one_entry) {
  still_clocks time;
  status_board board(time.clocks());
  auto report = sample_round(1);
  report.staleness = {5, 3, 1};
  board.round_ended(report, 1.0);
  report.staleness.assign(200, 1);
  board.round_ended(report, 1.0);
  const auto counts = board.snapshot().staleness;
  BOOST_REQUIRE(counts.size() == status_board::most_staleness);
  BOOST_TEST(counts[0] == 6);
  BOOST_TEST(counts[1] == 4);
  BOOST_TEST(counts[2] == 2);
  BOOST_TEST(counts[62] == 1);
  BOOST_TEST(counts[63] == 137);
}

BOOST_AUTO_TEST_CASE(states_of_clients_never_run_below_zero) {
  const client_counts odd{10, 8, 9, 12, 3};
  BOOST_TEST(odd.idle() == 0);
  BOOST_TEST(odd.away() == 0);
  const client_counts usual{400, 360, 335, 58, 6};
  BOOST_TEST(usual.idle() + usual.at_work + usual.adrift + usual.away() == usual.training);
}

BOOST_AUTO_TEST_CASE(readers_and_writers_may_meet) {
  status_board board;
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (std::uint64_t version = 1; version <= 3000; ++version) {
      board.round_ended(sample_round(version), 1.0);
      board.happened({0, 0, severity::info, version, "join", "node", {}});
      auto live = sample_live(sample_now, false);
      live.round = version;
      live.rounds = version;
      board.publish(std::move(live));
    }
    over = true;
  });
  bool whole = true;
  std::uint64_t last = 0;
  while (!over) {
    const auto status = board.snapshot();
    if (!status.published) continue;
    whole = whole && status.live.round == status.live.rounds && status.live.round >= last;
    last = status.live.round;
    whole = whole && status.rounds.back().last == last && status.events.back().round == last;
  }
  writer.join();
  BOOST_TEST(whole);
  BOOST_TEST(board.snapshot().live.round == 3000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
