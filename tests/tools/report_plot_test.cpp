// Numbers, long curves, means over seeds, and the template of the report.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/tools/reports.hpp"
#include "tools/page/page.hpp"
#include "tools/report/detail/series.hpp"

using namespace furlong::tests;
using namespace furlong::tools;

namespace {

series wave(std::size_t size) {
  series points;
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = static_cast<double>(i + 1);
    points.push_back({x, std::sin(x / 7.0)});
  }
  return points;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numbers)

BOOST_AUTO_TEST_CASE(are_written_for_people) {
  BOOST_TEST(written(0.90421, number_style::plain) == "0.9042");
  BOOST_TEST(written(-12.345, number_style::plain) == "-12.35");
  BOOST_TEST(written(0.0, number_style::plain) == "0");
  BOOST_TEST(written(1.5e-5, number_style::plain) == "1.50e-05");
  BOOST_TEST(written(1e300, number_style::plain) == "1.00e+300");
  BOOST_TEST(written(0.4333, number_style::percent) == "43.3 %");
  BOOST_TEST(written(0.4333, number_style::accuracy) == "43.33 %");
  BOOST_TEST(written(2.4, number_style::rate) == "2.4");
  BOOST_TEST(written(1234567.4, number_style::count) == "1,234,567");
  BOOST_TEST(written(999.0, number_style::bytes) == "999 B");
  BOOST_TEST(written(12.34e6, number_style::bytes) == "12.3 MB");
  BOOST_TEST(written(1.65e9, number_style::bytes) == "1.65 GB");
  BOOST_TEST(written(std::nullopt, number_style::count) == "\u2013");
  BOOST_TEST(written(std::nan(""), number_style::bytes) == "NaN");
  BOOST_TEST(written(-std::numeric_limits<double>::infinity(), number_style::plain) == "-\u221E");
  BOOST_TEST(fixed(-0.001, 2) == "0.00");
  BOOST_TEST(grouped(0) == "0");
  BOOST_TEST(grouped(1000) == "1,000");
  BOOST_TEST(counted(1, "round") == "1 round");
}

BOOST_AUTO_TEST_CASE(durations) {
  BOOST_TEST(duration(0.417) == "0.42 s");
  BOOST_TEST(duration(59.96) == "1 min 00 s");
  BOOST_TEST(duration(3599.6) == "1 h 00 min");
  BOOST_TEST(duration(7620) == "2 h 07 min");
  BOOST_TEST(duration(-1) == "\u2013");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(curves)

BOOST_AUTO_TEST_CASE(short_ones_stay) {
  for (const std::size_t size : {0U, 1U, 2U, 500U}) BOOST_TEST((decimate(wave(size)) == wave(size)));
}

BOOST_AUTO_TEST_CASE(long_ones_keep_ends_and_extremes_and_order) {
  for (const std::size_t size : {501U, 998U, 12345U, 100000U}) {
    auto points = wave(size);
    points[size / 3].y = 9.0;
    points[size / 2].y = -9.0;
    const auto kept = decimate(points);
    BOOST_TEST(kept.size() <= 500U);
    BOOST_TEST(kept.size() > 250U);
    BOOST_TEST((kept.front() == points.front()));
    BOOST_TEST((kept.back() == points.back()));
    BOOST_TEST((std::find(kept.begin(), kept.end(), points[size / 3]) != kept.end()));
    BOOST_TEST((std::find(kept.begin(), kept.end(), points[size / 2]) != kept.end()));
    BOOST_TEST(std::is_sorted(kept.begin(), kept.end(), [](const point& a, const point& b) { return a.x < b.x; }));
  }
}

BOOST_AUTO_TEST_CASE(flat_ones_shrink_to_a_point_a_stretch) {
  series points;
  for (std::size_t i = 0; i < 10000; ++i) points.push_back({static_cast<double>(i), 1.0});
  const auto kept = decimate(points);
  BOOST_TEST(kept.size() == 251U);
}

BOOST_AUTO_TEST_CASE(a_sliding_mean_keeps_straight_lines_at_the_start_and_averages_at_the_end) {
  series line;
  for (std::size_t i = 0; i < 20; ++i) line.push_back({static_cast<double>(i), 2.0 * static_cast<double>(i)});
  const auto mean = smooth(line, 5);
  BOOST_REQUIRE(mean.size() == 20U);
  for (std::size_t i = 0; i + 2 < 20; ++i) BOOST_TEST(mean[i].y == line[i].y);
  BOOST_TEST(mean[19].y == (34.0 + 36.0 + 38.0) / 3);
  BOOST_TEST((smooth(line, 1) == line));
  BOOST_TEST(smooth({}, 3).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(means)

// Three seeds of one scenario, and one run of another.
std::vector<run_record> seeds_and_another() {
  std::vector<run_record> runs(4);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& run = runs[i];
    run.name = i < 3 ? "a" : "b";
    run.seed = std::to_string(i + 1);
    run.summary.emplace();
    for (std::uint64_t r = 1; r <= 2; ++r) {
      auto& round = run.rounds.emplace_back();
      round.round = r;
      round.figures["loss"] = static_cast<double>(r * (i + 1));
      round.figures["ended"] = static_cast<double>(10 * r * (i + 1));
      round.figures["bytes_up"] = 5;
    }
  }
  return runs;
}

BOOST_AUTO_TEST_CASE(seeds_are_one_curve_with_the_interval_of_t) {
  const auto data = data_of(seeds_and_another());
  const auto chart = chart_of(data, "Training loss");
  BOOST_REQUIRE(chart["series"].size() == 2U);
  const auto& curve = chart["series"][0];
  BOOST_TEST(curve["y"] == (page_json{2, 4}));
  // Of 1, 2 and 3: sd 1, t(0.975, 2) = 4.302653, over sqrt(3).
  BOOST_TEST(std::abs(curve["low"][0].get<double>() - (2.0 - 4.302653 / std::sqrt(3.0))) < 1e-5);
  BOOST_TEST(std::abs(curve["high"][1].get<double>() - (4.0 + 2.0 * 4.302653 / std::sqrt(3.0))) < 1e-4);
  BOOST_TEST(curve["runs"].size() == 3U);
  const auto& track = data["tracks"][curve["track"].get<std::size_t>()];
  BOOST_TEST(track["rounds"] == (page_json{1, 2}));
  BOOST_TEST(track["time"] == (page_json{20, 40}));  // means
  BOOST_TEST(track["bytes"] == (page_json{5, 10}));
  BOOST_TEST(!chart["series"][1].contains("low"));
  BOOST_TEST(has(section_of(data, "Learning")["note"], "95 % interval"));
}

BOOST_AUTO_TEST_CASE(two_seeds_have_a_band_from_the_lower_to_the_higher) {
  auto runs = seeds_and_another();
  runs.erase(runs.begin() + 2);
  const auto curve = chart_of(data_of(runs), "Training loss")["series"][0];
  BOOST_TEST(curve["low"] == (page_json{1, 2}));
  BOOST_TEST(curve["high"] == (page_json{2, 4}));
}

BOOST_AUTO_TEST_CASE(failed_runs_are_in_no_mean) {
  auto runs = seeds_and_another();
  runs[2].summary->texts["failed"] = "diverged";
  BOOST_TEST(chart_of(data_of(runs), "Training loss")["series"][0]["y"] == (page_json{1.5, 3}));
  runs[3].summary.reset();  // where no run counts, it is drawn, and named so
  const auto chart = chart_of(data_of(runs), "Training loss");
  BOOST_TEST(has(chart["series"][1]["name"], "(not ended)"));
  BOOST_TEST(chart["series"][1]["failed"] == true);
  BOOST_TEST(!chart["series"][0].contains("failed"));
  BOOST_TEST(!chart_of(data_of(runs[3]), "Training loss")["series"][0].contains("failed"));
}

BOOST_AUTO_TEST_CASE(long_runs_are_decimated_and_noisy_ones_averaged) {
  run_record run;
  run.summary.emplace();
  for (std::uint64_t r = 1; r <= 20000; ++r) {
    auto& round = run.rounds.emplace_back();
    round.round = r;
    round.figures["loss"] = r % 2 == 0 ? 1.0 : 3.0;
    round.figures["selected"] = round.figures["folded"] = r == 7777 ? 99 : 5;
  }
  const auto data = data_of(run);
  BOOST_TEST(data.dump().size() < 600000U);
  const auto loss = chart_of(data, "Training loss");
  BOOST_TEST(has(loss["note"], "sliding window of rounds; single rounds are pale"));
  BOOST_TEST(std::abs(loss["series"][0]["y"][200].get<double>() - 2.0) < 0.01);
  BOOST_TEST(loss["series"][0]["runs"].size() == 1U);  // the single rounds, pale behind their means
  const auto counts = series_of(chart_of(data, "Clients a round"), "folded");
  BOOST_TEST(counts["y"].size() <= 500U);
  BOOST_TEST(std::count(counts["y"].begin(), counts["y"].end(), 99) == 1);  // no peak is lost
}

// The last evaluation is not the one that a run with select = "best" is judged by.
BOOST_AUTO_TEST_CASE(legends_and_tiles_show_the_figure_of_the_table_and_its_round) {
  auto runs = seeds_and_another();
  for (auto& run : runs) {
    for (auto& round : run.rounds) round.figures["eval.unseen.rmse"] = 0.75 + 0.25 * static_cast<double>(round.round);
    run.summary->figures["eval.unseen.rmse"] = 0.75;
    run.summary->figures["best.version"] = run.seed == "3" ? 2 : 1;
  }
  const auto data = data_of(runs);
  const auto chart = chart_of(data, "RMSE, unseen clients");
  BOOST_TEST(chart["series"][0]["value"] == "0.7500 (best, round 1-2)");
  BOOST_TEST(chart["series"][1]["value"] == "0.7500 (best, round 1)");
  BOOST_TEST(data["main"]["heads"][2]["name"] == "best round");
  BOOST_TEST(has(main_table(data), "a | 3 | 1-2"));
  const auto alone = data_of(runs[3]);
  BOOST_TEST(card_of(alone, "RMSE, unseen") == "0.7500, round 1, the best by validation");
  BOOST_TEST(series_of(chart_of(alone, "RMSE"), "unseen")["value"] == "0.7500 (best, round 1)");
  BOOST_TEST(has(alone["main"]["caption"], "Of round 1, the best by validation."));
}

// Else a mean would jump where a run has ended. The legend has the mean of the final figures nevertheless.
BOOST_AUTO_TEST_CASE(a_mean_ends_at_the_last_round_that_all_runs_have) {
  auto runs = seeds_and_another();
  for (std::size_t i = 0; i < 2; ++i) {
    runs[i].rounds.push_back(runs[i].rounds.back());
    runs[i].rounds.back().round = 3;
  }
  for (auto& run : runs) {
    const auto seed = std::stod(run.seed);
    for (auto& round : run.rounds) round.figures["eval.seen.accuracy"] = 0.1 * seed + 0.01 * double(round.round);
    run.summary->figures["eval.seen.accuracy"] = run.rounds.back().figures["eval.seen.accuracy"];
  }
  const auto data = data_of(runs);
  const auto curve = chart_of(data, "Accuracy, seen clients")["series"][0];
  BOOST_TEST(curve["y"] == (page_json{0.21, 0.22}));
  BOOST_TEST(curve["low"].size() == 2U);
  BOOST_TEST(data["tracks"][curve["track"].get<std::size_t>()]["rounds"] == (page_json{1, 2}));
  BOOST_TEST(has(main_table(data), "22.67"));  // of 0.13, 0.23 and 0.32
  BOOST_TEST(curve["value"] == "22.67 %");
}

BOOST_AUTO_TEST_CASE(one_point_is_no_curve) {
  auto runs = seeds_and_another();
  for (auto& run : runs) run.rounds.resize(1);
  BOOST_TEST(charts_of(data_of(runs)).empty());
}

BOOST_AUTO_TEST_CASE(figures_have_six_digits) {
  BOOST_TEST(brief(0.123456789).dump() == "0.123457");
  BOOST_TEST(brief(1234567.0).dump() == "1234570");
  BOOST_TEST(brief(-2.0).dump() == "-2");
  BOOST_TEST(brief(std::nan("")).is_null());
  BOOST_TEST(new_chart("curves", "", {}, number_style::seconds)["style"] == "seconds");
  BOOST_TEST(new_chart("curves", "")["style"] == "plain");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(templates)

BOOST_AUTO_TEST_CASE(what_is_put_in_is_not_searched_again) {
  BOOST_TEST(fill_template("<{{a}}|{{b}}>", {{"a", "{{b}}"}, {"b", "2"}}) == "<{{b}}|2>");
  BOOST_CHECK_THROW((void)fill_template("{{c}}", {{"a", "1"}}), std::logic_error);
}

BOOST_AUTO_TEST_CASE(escaping_leaves_nothing_to_the_browser) {
  BOOST_TEST(escape_html("<a href='x'>&\"\x01\r\n") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\uFFFD\n");
  BOOST_TEST(escape_html("\u00E9") == "\u00E9");
}

// SHA-256 of nothing, in base 64.
BOOST_AUTO_TEST_CASE(a_policy_names_a_hash) {
  BOOST_TEST(policy_source("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

BOOST_AUTO_TEST_SUITE_END()
