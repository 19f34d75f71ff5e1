// Charts of bars, timelines, and what they are made of.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/tools/reports.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/runs/ranking_names.hpp"

using namespace furlong::tools;
using furlong::tests::has;

namespace {

round_figures round_of(std::uint64_t number, std::uint64_t folded, std::uint64_t late) {
  round_figures round;
  round.round = number;
  round.figures = {{"selected", static_cast<double>(folded + late)},
                   {"folded", static_cast<double>(folded)},
                   {"late", static_cast<double>(late)}};
  return round;
}

run_record long_run(std::uint64_t rounds) {
  run_record run;
  for (std::uint64_t i = 1; i <= rounds; ++i) run.rounds.push_back(round_of(i, 8, i % 4));
  return run;
}

round_figures timed(std::vector<task_figures> tasks, double began, double ended) {
  round_figures round;
  round.round = 1;
  round.figures = {{"began", began}, {"ended", ended}};
  round.spans = std::move(tasks);
  return round;
}

// The only chart of a run with that round.
page_json timeline_of(const round_figures& round, std::optional<double> deadline) {
  run_record run;
  run.rounds = {round};
  run.deadline = deadline;
  const auto made = timelines_of(run);
  return made.empty() ? page_json() : made.front();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stretches)

BOOST_AUTO_TEST_CASE(cover_all_numbers_once_in_round_widths) {
  for (const std::uint64_t last : {1ULL, 59ULL, 60ULL, 61ULL, 120ULL, 121ULL, 10000ULL, 123456ULL, ~0ULL - 1, ~0ULL}) {
    const auto parts = stretches_of(1, last);
    BOOST_TEST(parts.size() <= 60U);
    BOOST_TEST(parts.front().first == 1U);
    BOOST_TEST(parts.back().last == last);
    for (std::size_t i = 1; i < parts.size(); ++i) BOOST_TEST(parts[i].first == parts[i - 1].last + 1);
  }
  BOOST_TEST(stretches_of(1, 60).size() == 60U);
  BOOST_TEST(stretches_of(1, 61)[0].last == 2U);
  BOOST_TEST(stretches_of(1, 10000)[0].last == 200U);
  BOOST_TEST(stretches_of(0, 0).size() == 1U);
  BOOST_TEST(label_of(stretch{7, 7}) == "7");
  BOOST_TEST(label_of(stretch{1, 1000}) == "1\u20131,000");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(times)

BOOST_AUTO_TEST_CASE(are_written_in_fitting_units) {
  BOOST_TEST(written(7620.0, number_style::seconds) == "2 h 07 min");
  BOOST_TEST(duration(47.0 * 3600) == "47 h 00 min");
  BOOST_TEST(duration(50.5 * 3600) == "2 d 02 h");
  BOOST_TEST(duration(-1) == "\u2013");
}

BOOST_AUTO_TEST_CASE(means_of_counts_have_few_digits) {
  BOOST_TEST(written(100.0, number_style::mean) == "100");
  BOOST_TEST(written(97.35, number_style::mean) == "97.3");
  BOOST_TEST(written(0.256, number_style::mean) == "0.26");
  BOOST_TEST(written(12345.6, number_style::mean) == "12,346");
  BOOST_TEST(written(std::nan(""), number_style::mean) == "NaN");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(bars)

BOOST_AUTO_TEST_CASE(of_ten_thousand_rounds_are_few_and_are_means) {
  const auto chart = outcomes_by_round(long_run(10000));
  BOOST_REQUIRE(chart["bars"].size() == 50U);
  BOOST_TEST(chart["bars"][0]["label"] == "1\u2013200");
  BOOST_TEST(chart["bars"][0]["from"] == 0.5);
  BOOST_TEST(chart["bars"][0]["to"] == 200.5);
  BOOST_TEST(chart["bars"][0]["values"] == (page_json{8, 1.5}));  // outcomes that never occur are left out
  BOOST_TEST(chart["series"][1]["name"] == "late");
  BOOST_TEST(chart["series"][1]["value"] == "15,000");
  BOOST_TEST(has(chart["note"], "200 rounds"));
  BOOST_TEST(outcomes_by_round(run_record{}).is_null());
}

BOOST_AUTO_TEST_CASE(runs_where_all_is_folded_need_none) {
  auto run = long_run(3);
  for (auto& round : run.rounds) round.figures["late"] = 0;
  BOOST_TEST(outcomes_by_round(run).is_null());
  run.rounds[1].figures["dropped.train"] = 1;
  const auto chart = outcomes_by_round(run);
  BOOST_REQUIRE(!chart.is_null());
  BOOST_TEST(chart["bars"][1]["values"] == (page_json{8, 1}));
  BOOST_TEST(!chart.contains("note"));
}

// A round that was given up and tried again stands in the file twice.
BOOST_AUTO_TEST_CASE(rounds_tried_twice_are_averaged) {
  run_record run;
  run.rounds = {round_of(1, 0, 4), round_of(1, 8, 0), round_of(2, 8, 2)};
  const auto chart = outcomes_by_round(run);
  BOOST_REQUIRE(chart["bars"].size() == 2U);
  BOOST_TEST(chart["bars"][0]["values"] == (page_json{4, 2}));
}

BOOST_AUTO_TEST_CASE(availability_lays_days_over_each_other) {
  run_record run;
  for (std::uint64_t i = 0; i < 49; ++i) {
    round_figures round;
    round.round = i + 1;
    const auto began = 3600.0 * static_cast<double>(i);
    round.figures = {{"began", began}, {"ended", began + 60.0}, {"probed", 10}, {"available", i < 24 ? 2 : 4}};
    run.rounds.push_back(round);
  }
  const auto chart = availability_by_hour(run);
  BOOST_REQUIRE(chart["bars"].size() == 24U);
  BOOST_TEST(chart["bars"][0]["values"][0] == 0.333333);  // hours 0, 24 and 48
  BOOST_TEST(chart["bars"][23]["values"][0] == 0.3);
  BOOST_TEST(has(chart["note"], "2 d 00 h"));
  run.rounds.resize(3);
  BOOST_TEST(availability_by_hour(run).is_null());  // not three hours
  run.rounds.resize(2);
  run.rounds[1].figures["began"] = 20000.0;
  run.rounds[1].figures["ended"] = 20001.0;
  const auto gaps = availability_by_hour(run);
  BOOST_REQUIRE(!gaps.is_null());
  BOOST_TEST(!gaps.contains("note"));
  BOOST_TEST(gaps["bars"][1]["values"][0].is_null());
  run.rounds[0].figures["began"] = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(availability_by_hour(run).is_null());
}

BOOST_AUTO_TEST_CASE(zeros_behind_the_last_staleness_have_no_bars) {
  run_record run;
  BOOST_TEST(staleness_histogram(run).is_null());
  run.staleness = {4, 1, 2, 0, 0};
  const auto chart = staleness_histogram(run);
  BOOST_REQUIRE(chart["bars"].size() == 3U);
  BOOST_TEST(chart["bars"][0]["values"][0] == 4);
  BOOST_TEST(chart["bars"][2]["values"][0] == 2);
  BOOST_TEST(chart["bars"][0]["more"][0] == "57.1 %");
  run.staleness.assign(1001, 1);
  BOOST_TEST(staleness_histogram(run)["bars"].size() == 51U);
}

BOOST_AUTO_TEST_CASE(quality_grows_from_the_value_over_all) {
  run_record run;
  auto& of = run.summary.emplace();
  const auto bin = [](double least, double most, double rmse, double clients) {
    // The loss says the same: no chart of its own.
    return figure_set{{{"least", least}, {"most", most}, {"rmse", rmse}, {"loss", rmse * rmse}, {"clients", clients}}};
  };
  of.by_participation = {bin(0, 0, 1.0, 3), bin(1, 2, 0.85, 7), bin(3, 9, std::nan(""), 0)};
  of.figures = {
      {"eval.seen.rmse", 0.9}, {"eval.seen.clients", 10}, {"eval.unseen.rmse", 0.95}, {"eval.unseen.clients", 4}};
  const auto charts = quality_by_participation(run);
  BOOST_REQUIRE(charts.size() == 1U);
  const auto& chart = charts[0];
  BOOST_TEST(chart["title"] == "RMSE by participation");
  BOOST_TEST(chart["base"] == 0.9);
  BOOST_TEST(has(chart["note"], "Bars begin at 0.9000, the value over all seen clients: down is better."));
  BOOST_REQUIRE(chart["bars"].size() == 3U);
  BOOST_TEST(chart["bars"][1]["label"] == "1\u20132");
  BOOST_TEST(chart["bars"][1]["values"] == (page_json{0.85, nullptr}));
  BOOST_TEST(chart["bars"][2]["label"] == "unseen");
  BOOST_TEST(chart["bars"][2]["values"] == (page_json{nullptr, 0.95}));
  BOOST_TEST(chart["bars"][2]["more"][0] == "4");
  of.figures.erase("eval.unseen.rmse");
  const auto alone = quality_by_participation(run)[0];
  BOOST_TEST(alone["series"].size() == 1U);  // no legend of bars that are not there
  BOOST_TEST(alone["bars"][1]["values"] == (page_json{0.85}));
}

BOOST_AUTO_TEST_CASE(rankings_are_shown_by_activity) {
  run_record run;
  auto& of = run.summary.emplace();
  BOOST_TEST(quality_by_activity(run).empty());
  const auto bin = [](double least, double most, double ndcg) {
    return figure_set{{{"least", least},
                       {"most", most},
                       {"full_ndcg_5", 0.01},
                       {"full_ndcg_10", ndcg},
                       {"sampled_ndcg_10", 0.4},
                       {"clients", 2.0}}};
  };
  of.by_activity = {bin(1, 4, 0.02), bin(5, 30, 0.06)};
  of.figures = {{"eval.seen.full_ndcg_10", 0.04}};
  const auto charts = quality_by_activity(run);
  BOOST_REQUIRE(charts.size() == 1U);
  BOOST_TEST(charts[0]["title"] == "full_ndcg_10 by activity");
  BOOST_TEST(charts[0]["base"] == 0.04);
  BOOST_TEST(charts[0]["bars"][1]["label"] == "5\u201330");
  BOOST_TEST(charts[0]["bars"][1]["values"] == (page_json{0.06}));
}

BOOST_AUTO_TEST_CASE(a_few_figures_of_rankings_are_shown) {
  using names = std::vector<std::string>;
  const auto places = [](const names& of) { return shown_places(of).value_or(0); };
  BOOST_TEST(places({"full_mrr", "full_ndcg_5", "full_ndcg_10", "full_ndcg_20"}) == 10U);
  BOOST_TEST(places({"sampled_ndcg_5", "sampled_ndcg_50", "sampled_ndcg_20"}) == 20U);
  BOOST_TEST(places({"full_ndcg_1", "full_ndcg_3"}) == 3U);
  BOOST_TEST(places({"rmse", "my_ndcg_10", "full_hr_10"}) == 0U);
  BOOST_TEST(is_shown("full_hr_10", 10));
  BOOST_TEST(is_shown("sampled_ndcg_10", 10));
  for (const char* name : {"full_hr_110", "full_map_10", "my_hr_10", "coverage_10", "full_hr_5"})
    BOOST_TEST(!is_shown(name, 10), name);
  BOOST_TEST(is_of_ranking("coverage_5"));
  BOOST_TEST(!is_of_ranking("accuracy"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(timelines)

BOOST_AUTO_TEST_CASE(begin_with_the_round_and_are_sorted_by_end) {
  const auto line = timeline_of(timed({{7, 1001.0, 1050.0, false, "folded"},
                                       {1234, 1000.0, 1020.0, false, "dropped"},
                                       {9, 1000.0, 1060.0, true, "late"}},
                                      1000, 1060),
                                100.0);
  BOOST_REQUIRE(line["tasks"].size() == 3U);
  BOOST_TEST(line["tasks"][0]["client"] == 1234);
  BOOST_TEST(line["tasks"][0]["from"] == 0);
  BOOST_TEST(line["tasks"][0]["to"] == 20);
  BOOST_TEST(line["tasks"][2]["open"] == true);
  BOOST_REQUIRE(line["moments"].size() == 2U);
  BOOST_TEST(line["moments"][0]["name"] == "the round ends");
  BOOST_TEST(line["moments"][1]["at"] == 100);
  BOOST_TEST(line["across"] == (page_json{0, 100}));
  BOOST_TEST(has(line["note"], "still at work when the round ends"));
  BOOST_TEST(line["series"][0] == (page_json{{"name", "folded"}, {"colour", 0}, {"value", "1"}}));
}

BOOST_AUTO_TEST_CASE(mark_a_deadline_that_ended_the_round_once) {
  const auto line = timeline_of(timed({{7, 0.0, 50.0, false, "folded"}}, 0, 600), 600.0);
  BOOST_REQUIRE(line["moments"].size() == 1U);
  BOOST_TEST(line["moments"][0]["name"] == "deadline: the round ends");
}

BOOST_AUTO_TEST_CASE(show_the_begin_where_tasks_began_before) {
  const auto line = timeline_of(timed({{7, 40.0, 150.0, false, "folded"}}, 100, 160), std::nullopt);
  BOOST_REQUIRE(line["moments"].size() == 2U);
  BOOST_TEST(line["moments"][0]["name"] == "the round begins");
  BOOST_TEST(line["tasks"][0]["from"] == -60);
  BOOST_TEST(line["across"][0] == -60);
}

BOOST_AUTO_TEST_CASE(cut_off_stragglers) {
  std::vector<task_figures> tasks;
  for (std::uint64_t i = 0; i < 40; ++i) tasks.push_back({i, 0.0, 10.0 + static_cast<double>(i), false, "folded"});
  BOOST_TEST(!timeline_of(timed(tasks, 0, 50), std::nullopt).contains("note"));
  tasks.push_back({99, 0.0, 5000.0, false, "late"});
  const auto line = timeline_of(timed(tasks, 0, 50), std::nullopt);
  BOOST_TEST(has(line["note"], "1 bar cut off at the edge"));
  BOOST_TEST(line["across"][1] == 150);
  BOOST_TEST(line["tasks"][40]["to"] == 5000);  // the table tells
}

BOOST_AUTO_TEST_CASE(survive_odd_times) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(timeline_of(timed({{1, nan, 5.0, false, "folded"}}, 0, 10), std::nullopt).is_null());
  const auto point = timeline_of(timed({{1, 0.0, 0.0, false, "eaten <b>"}}, 0, 0), std::nullopt);
  BOOST_TEST(point["series"][0]["name"] == "eaten <b>");
  BOOST_TEST(point["series"][0]["colour"] == 7);
  BOOST_TEST(point["across"][0] < point["across"][1]);
}

BOOST_AUTO_TEST_SUITE_END()
