// Plots of bars, timelines, and what they are made of.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tools/report/detail/axis.hpp"
#include "tools/report/detail/bar_chart.hpp"
#include "tools/report/detail/outcome_figures.hpp"
#include "tools/report/detail/svg_frame.hpp"
#include "tools/report/detail/timeline.hpp"

using namespace furlong::tools;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

bar_chart two_parts() {
  bar_chart plot;
  plot.title = "Ends <of> tasks";
  plot.x_label = "round";
  plot.y_style = number_style::count;
  plot.parts = {{"folded", 0, "11"}, {"late & lost", 3, "4"}, {"none", 1, "0"}};
  plot.bars = {{0.5, 1.5, "1", {6.0, 4.0, 0.0}, {}}, {1.5, 2.5, "2", {5.0, no_value, 0.0}, {}}};
  return plot;
}

round_figures round_of(std::uint64_t number, std::uint64_t folded, std::uint64_t late) {
  round_figures round;
  round.round = number;
  round.selected = folded + late;
  round.folded = folded;
  round.late = late;
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
  round.began = began;
  round.ended = ended;
  round.spans = std::move(tasks);
  return round;
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

BOOST_AUTO_TEST_CASE(are_written_and_ticked_in_fitting_units) {
  BOOST_TEST(written(7620.0, number_style::seconds) == "2 h 07 min");
  BOOST_TEST(duration(47.0 * 3600) == "47 h 00 min");
  BOOST_TEST(duration(50.5 * 3600) == "2 d 02 h");
  BOOST_TEST(duration(-1) == "\u2013");
  BOOST_TEST(make_axis(0, 100, number_style::seconds, 6, false).ticks.at(1).label == "20 s");
  BOOST_TEST(make_axis(0, 600, number_style::seconds, 6, false).ticks.at(1).label == "2 min");
  BOOST_TEST(make_axis(0, 36455, number_style::seconds, 6, false).ticks.at(1).label == "2 h");
  BOOST_TEST(make_axis(0, 3e6, number_style::seconds, 6, false).ticks.at(1).label == "5 d");
  const auto early = make_axis(-60, 100, number_style::seconds, 6, false);
  BOOST_TEST(early.ticks.front().label == "-60 s");
  BOOST_TEST(early.low == -60.0);
}

BOOST_AUTO_TEST_CASE(means_of_counts_have_few_digits) {
  BOOST_TEST(written(100.0, number_style::mean) == "100");
  BOOST_TEST(written(97.35, number_style::mean) == "97.3");
  BOOST_TEST(written(0.256, number_style::mean) == "0.26");
  BOOST_TEST(written(12345.6, number_style::mean) == "12,346");
  BOOST_TEST(written(std::nan(""), number_style::mean) == "NaN");
}

BOOST_AUTO_TEST_CASE(labels_that_would_touch_are_left_out) {
  axis x{0.0, 10.0, {}};
  for (int i = 0; i < 10; ++i) x.ticks.push_back({i + 0.5, "12\u201317", false});
  thin_out(x);
  BOOST_TEST(x.ticks.size() == 10U);
  BOOST_TEST(!x.ticks[0].minor);
  BOOST_TEST(x.ticks[1].minor);  // fits, but not in large letters
  for (auto& mark : x.ticks) mark.label = "1,000\u20132,000";
  thin_out(x);
  BOOST_TEST(x.ticks.size() == 5U);
  BOOST_TEST(x.ticks[1].at == 2.5);
  axis none{0.0, 1.0, {}};
  thin_out(none);
  BOOST_TEST(none.ticks.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(bars)

BOOST_AUTO_TEST_CASE(stack_from_zero_and_leave_out_what_is_not_there) {
  const auto svg = render(two_parts(), 3);
  // Axis from 0 to 10 over 224 units: 6 are 134.4 high, 4 stand on them.
  BOOST_TEST(has(svg, "y=\"101.6\" width=\"237.0\" height=\"134.4\""));
  BOOST_TEST(has(svg, "y=\"12.0\" width=\"237.0\" height=\"89.6\""));
  BOOST_TEST(count(svg, "<rect x=") == 1U + 3U);  // the clip path and three parts of bars
  BOOST_TEST(!has(svg, "none"));
  BOOST_TEST(has(svg, "late &amp; lost"));
  BOOST_TEST(has(svg, "Ends &lt;of&gt; tasks by round"));
  BOOST_TEST(has(svg, "folded: lowest 5 at 2, highest 6 at 1."));
}

BOOST_AUTO_TEST_CASE(have_a_table_of_all_values) {
  const auto svg = render(two_parts(), 3);
  BOOST_TEST(has(svg, "<summary>Values</summary>"));
  BOOST_TEST(has(svg, "<th scope=\"row\">2</th><td class=\"num\">5</td><td class=\"num\">\u2013</td>"));
}

BOOST_AUTO_TEST_CASE(grow_up_and_down_from_a_base) {
  bar_chart plot;
  plot.title = "RMSE";
  plot.x_label = "updates";
  plot.label_bars = true;
  plot.base = 0.9;
  plot.base_name = "all";
  plot.parts = {{"seen", 0, ""}};
  plot.bars = {{0.0, 1.0, "0", {1.0}, {}}, {1.0, 2.0, "1", {0.85}, {}}};
  const auto svg = render(plot, 1);
  BOOST_TEST(has(svg, ">1.000</text>"));
  BOOST_TEST(has(svg, ">0.850</text>"));
  BOOST_TEST(has(svg, "<line class=\"whole\""));
  BOOST_TEST(has(svg, "<b>0.9000</b>"));
  BOOST_TEST(!has(svg, "\"end\">0</text>"));  // the y axis does not begin at zero
}

BOOST_AUTO_TEST_CASE(of_ten_thousand_rounds_are_few_and_are_means) {
  const auto plot = outcomes_by_round(long_run(10000));
  BOOST_REQUIRE(plot.has_value());
  BOOST_TEST(plot->bars.size() == 50U);
  BOOST_TEST(plot->bars[0].label == "1\u2013200");
  BOOST_TEST(plot->bars[0].values[0] == 8.0);
  BOOST_TEST(plot->bars[0].values[2] == 1.5);
  BOOST_TEST(plot->parts[2].total == "15,000");
  BOOST_TEST(has(plot->note, "200 rounds"));
  BOOST_TEST(render(*plot, 1).size() < 40000U);
  BOOST_TEST(!outcomes_by_round(run_record{}));
}

BOOST_AUTO_TEST_CASE(runs_where_all_is_folded_need_none) {
  auto run = long_run(3);
  for (auto& round : run.rounds) round.late = 0;
  BOOST_TEST(!outcomes_by_round(run));
  run.rounds[1].dropped = {{"train", 1}};
  const auto plot = outcomes_by_round(run);
  BOOST_REQUIRE(plot.has_value());
  BOOST_TEST(plot->bars[1].values[4] == 1.0);
  BOOST_TEST(plot->note.empty());
}

// A round that was given up and tried again stands in the file twice.
BOOST_AUTO_TEST_CASE(rounds_tried_twice_are_averaged) {
  run_record run;
  run.rounds = {round_of(1, 0, 4), round_of(1, 8, 0), round_of(2, 8, 2)};
  const auto plot = outcomes_by_round(run);
  BOOST_REQUIRE(plot.has_value());
  BOOST_REQUIRE(plot->bars.size() == 2U);
  BOOST_TEST(plot->bars[0].values[0] == 4.0);
  BOOST_TEST(plot->bars[0].values[2] == 2.0);
}

BOOST_AUTO_TEST_CASE(availability_lays_days_over_each_other) {
  run_record run;
  for (std::uint64_t i = 0; i < 49; ++i) {
    round_figures round;
    round.round = i + 1;
    round.began = 3600.0 * static_cast<double>(i);
    round.ended = *round.began + 60.0;
    round.probed = 10;
    round.available = i < 24 ? 2 : 4;
    run.rounds.push_back(round);
  }
  const auto plot = availability_by_hour(run);
  BOOST_REQUIRE(plot.has_value());
  BOOST_TEST(plot->bars.size() == 24U);
  BOOST_TEST(plot->bars[0].values[0] == 10.0 / 30.0);  // hours 0, 24 and 48
  BOOST_TEST(plot->bars[23].values[0] == 6.0 / 20.0);
  BOOST_TEST(has(plot->note, "2 d 00 h"));
  run.rounds.resize(3);
  BOOST_TEST(!availability_by_hour(run));  // not three hours
  run.rounds.resize(2);
  run.rounds[1].began = 20000.0;
  run.rounds[1].ended = 20001.0;
  const auto gaps = availability_by_hour(run);
  BOOST_REQUIRE(gaps.has_value());
  BOOST_TEST(gaps->note.empty());
  BOOST_TEST(std::isnan(gaps->bars[1].values[0]));
  run.rounds[0].began = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(!availability_by_hour(run));
}

BOOST_AUTO_TEST_CASE(staleness_is_counted_over_all_rounds) {
  run_record run;
  run.rounds.resize(2);
  BOOST_TEST(!staleness_histogram(run));
  run.rounds[0].staleness = {3, 1};
  run.rounds[1].staleness = {1, 0, 2, 0, 0};
  const auto plot = staleness_histogram(run);
  BOOST_REQUIRE(plot.has_value());
  BOOST_REQUIRE(plot->bars.size() == 3U);
  BOOST_TEST(plot->bars[0].values[0] == 4.0);
  BOOST_TEST(plot->bars[2].values[0] == 2.0);
  BOOST_TEST(plot->bars[0].more[0] == "57.14 %");
  run.rounds[1].staleness.assign(1001, 1);
  BOOST_TEST(staleness_histogram(run)->bars.size() == 51U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(timelines)

BOOST_AUTO_TEST_CASE(begin_with_the_round_and_are_sorted_by_end) {
  const auto line = timeline_of(timed({{7, 1001.0, 1050.0, false, "folded"},
                                       {1234, 1000.0, 1020.0, false, "dropped"},
                                       {9, 1000.0, 1060.0, true, "late"}},
                                      1000, 1060),
                                100.0);
  BOOST_REQUIRE(line.tasks.size() == 3U);
  BOOST_TEST(line.tasks[0].client == 1234U);
  BOOST_TEST(line.tasks[0].ended == 20.0);
  BOOST_REQUIRE(line.moments.size() == 2U);
  BOOST_TEST(line.moments[0].name == "the round ends");
  BOOST_TEST(line.moments[1].at == 100.0);
  const auto svg = render(line, 2);
  BOOST_TEST(has(svg, "<title>client 1,234, dropped: 0.00 s to 20.0 s</title>"));
  BOOST_TEST(has(svg, "deadline, 1 min 40 s"));
  BOOST_TEST(has(svg, "3 tasks, from start to end"));
  BOOST_TEST(has(svg, "still at work when the round ends"));
  BOOST_TEST(has(svg, "client 9, late: 0.00 s to after the round"));
  BOOST_TEST(count(svg, ">at work</td>") == 1U);
  BOOST_TEST(count(svg, "<tr>") == 4U);
}

BOOST_AUTO_TEST_CASE(mark_a_deadline_that_ended_the_round_once) {
  const auto line = timeline_of(timed({{7, 0.0, 50.0, false, "folded"}}, 0, 600), 600.0);
  BOOST_REQUIRE(line.moments.size() == 1U);
  BOOST_TEST(line.moments[0].name == "deadline: the round ends");
}

BOOST_AUTO_TEST_CASE(show_the_begin_where_tasks_began_before) {
  const auto line = timeline_of(timed({{7, 40.0, 150.0, false, "folded"}}, 100, 160), std::nullopt);
  BOOST_REQUIRE(line.moments.size() == 2U);
  BOOST_TEST(line.moments[0].name == "the round begins");
  BOOST_TEST(has(render(line, 1), "-1 min 00 s to 50.0 s"));
}

BOOST_AUTO_TEST_CASE(cut_off_stragglers) {
  std::vector<task_figures> tasks;
  for (std::uint64_t i = 0; i < 40; ++i) tasks.push_back({i, 0.0, 10.0 + static_cast<double>(i), false, "folded"});
  BOOST_TEST(!has(render(timeline_of(timed(tasks, 0, 50), std::nullopt), 1), "cut off"));
  tasks.push_back({99, 0.0, 5000.0, false, "late"});
  const auto svg = render(timeline_of(timed(tasks, 0, 50), std::nullopt), 1);
  BOOST_TEST(has(svg, "1 bar cut off at the edge"));
  BOOST_TEST(has(svg, "1 h 23 min"));  // the table tells
}

BOOST_AUTO_TEST_CASE(survive_odd_times) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto none = timeline_of(timed({{1, nan, 5.0, false, "folded"}}, 0, 10), std::nullopt);
  BOOST_TEST(none.tasks.empty());
  const auto point = render(timeline_of(timed({{1, 0.0, 0.0, false, "eaten <b>"}}, 0, 0), std::nullopt), 1);
  BOOST_TEST(has(point, "eaten &lt;b&gt;"));
  BOOST_TEST(!has(point, "nan"));
  BOOST_TEST(colour_of("eaten") == 7U);
  BOOST_TEST(colour_of("folded") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
