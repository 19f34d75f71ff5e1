// Numbers, long curves, axes and plots of the report.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tools/report/detail/axis.hpp"
#include "tools/report/detail/html.hpp"
#include "tools/report/detail/svg_chart.hpp"

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

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> labels_of(const axis& of) {
  std::vector<std::string> labels;
  for (const auto& mark : of.ticks) labels.push_back(mark.label);
  return labels;
}

chart plot_of(series points) {
  chart plot;
  plot.title = "RMSE <of> \"all\"";
  plot.x_label = "round";
  plot.curves.push_back({"a & b", 0, std::move(points), false});
  return plot;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numbers)

BOOST_AUTO_TEST_CASE(are_written_for_people) {
  BOOST_TEST(written(0.90421, number_style::plain) == "0.9042");
  BOOST_TEST(written(-12.345, number_style::plain) == "-12.35");
  BOOST_TEST(written(0.0, number_style::plain) == "0");
  BOOST_TEST(written(1.5e-5, number_style::plain) == "1.50e-05");
  BOOST_TEST(written(1e300, number_style::plain) == "1.00e+300");
  BOOST_TEST(written(0.4333, number_style::percent) == "43.33 %");
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

BOOST_AUTO_TEST_CASE(a_start_far_off_does_not_flatten_the_rest) {
  series points{{1, 50.0}, {2, 20.0}};
  for (int i = 3; i <= 100; ++i) points.push_back({static_cast<double>(i), i % 2 == 0 ? 0.9 : 1.0});
  const auto shown = settled_part({&points});
  BOOST_TEST(shown.high < 1.2);
  BOOST_TEST(shown.low == 0.9);
  const auto sine = wave(100);
  BOOST_TEST(settled_part({&sine}).high == all_of({&sine}).high);
  // A run much shorter than another has a late part of its own.
  const series brief{{1, 3.0}, {2, 2.0}};
  BOOST_TEST(settled_part({&points, &brief}).high >= 2.0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(axes)

BOOST_AUTO_TEST_CASE(ticks_are_round_numbers) {
  const auto y = make_axis(0.861, 0.954, number_style::plain, 5, true);
  const std::vector<std::string> expected{"0.86", "0.88", "0.90", "0.92", "0.94", "0.96"};
  BOOST_TEST(labels_of(y) == expected, boost::test_tools::per_element());
  BOOST_TEST(y.low == 0.86, boost::test_tools::tolerance(1e-12));
  const auto x = make_axis(1, 500, number_style::count, 6, false);
  const std::vector<std::string> rounds{"100", "200", "300", "400", "500"};
  BOOST_TEST(labels_of(x) == rounds, boost::test_tools::per_element());
  BOOST_TEST(x.low == 1.0);
  const auto share = make_axis(0.41, 0.45, number_style::percent, 5, true);
  BOOST_TEST(labels_of(share).front() == "41 %");
  const auto data = make_axis(0, 37.1e9, number_style::bytes, 5, true);
  BOOST_TEST(labels_of(data)[1] == "5 GB");
  BOOST_TEST(labels_of(make_axis(-1, 1, number_style::plain, 5, true)).at(2) == "0");
}

BOOST_AUTO_TEST_CASE(rounds_have_no_fractions) {
  for (const auto& mark : make_axis(1, 2, number_style::count, 6, false).ticks)
    BOOST_TEST(mark.at == std::round(mark.at));
}

BOOST_AUTO_TEST_CASE(any_range_gives_a_usable_axis) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const auto style : {number_style::plain, number_style::count, number_style::percent, number_style::bytes})
    for (const auto& [low, high] : {std::pair{0.0, 0.0},
                                    {1.0, 1.0},
                                    {-3.0, -3.0},
                                    {0.0, 1e-300},
                                    {0.0, 1e300},
                                    {-1e300, 1e300},
                                    {1e15, 1e15 + 1},
                                    {0.0, tiny}}) {
      const auto made = make_axis(low, high, style, 5, true);
      BOOST_TEST(made.low < made.high);
      BOOST_TEST(std::isfinite(made.place(high)));
      BOOST_TEST(made.ticks.size() < 51U);
      for (const auto& mark : made.ticks) BOOST_TEST((mark.at >= made.low && mark.at <= made.high));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(plots)

BOOST_AUTO_TEST_CASE(have_words_for_those_who_cannot_see_them) {
  const auto svg = render(plot_of({{1, 0.95}, {2, 0.9}, {3, 0.91}}), 4);
  BOOST_TEST(has(svg, "<title id=\"p4t\">RMSE &lt;of&gt; &quot;all&quot; by round</title>"));
  BOOST_TEST(has(svg, "a &amp; b: 3 points, first 0.9500, last 0.9100, lowest 0.9000, highest 0.9500."));
  BOOST_TEST(has(svg, "aria-labelledby=\"p4t p4d\""));
  BOOST_TEST(has(svg, "1;0.9500|"));
}

BOOST_AUTO_TEST_CASE(draw_from_left_to_right_within_the_frame) {
  const auto svg = render(plot_of({{1, 1.0}, {3, 2.0}}), 1);
  BOOST_TEST(has(svg, "d=\"M66.0 236.0L546.0 12.0\""));
}

BOOST_AUTO_TEST_CASE(tell_what_is_off_the_scale) {
  series points{{1, 50.0}};
  for (int i = 2; i <= 100; ++i) points.push_back({static_cast<double>(i), i % 2 == 0 ? 0.9 : 1.0});
  BOOST_TEST(has(render(plot_of(points), 1), "starts at up to 50.00"));
  for (auto& p : points) p.y = -p.y;
  BOOST_TEST(has(render(plot_of(points), 1), "starts as low as -50.00"));
  auto whole = plot_of(points);
  for (auto& p : whole.curves[0].points) p.y = -p.y;
  whole.from_zero = true;
  BOOST_TEST(!has(render(whole, 1), "starts"));
}

BOOST_AUTO_TEST_CASE(noisy_curves_show_their_mean) {
  auto plot = plot_of(wave(200));
  plot.noisy = true;
  BOOST_TEST(has(render(plot, 1), "class=\"pale\""));
  plot.curves[0].points = wave(20);
  BOOST_TEST(!has(render(plot, 1), "class=\"pale\""));
}

BOOST_AUTO_TEST_CASE(later_turns_through_the_palette_are_dashed) {
  BOOST_TEST(!has(swatch(7), "dasharray"));
  BOOST_TEST(has(swatch(8), "stroke=\"var(--c0)\" stroke-dasharray"));
}

BOOST_AUTO_TEST_CASE(one_point_is_no_line) {
  BOOST_TEST(!has_line(plot_of({{1, 1.0}})));
  BOOST_TEST(has_line(plot_of({{1, 1.0}, {2, 1.0}})));
}

BOOST_AUTO_TEST_CASE(escape_leaves_nothing_to_the_browser) {
  BOOST_TEST(escape("<a href='x'>&\"\x01\r\n") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\uFFFD\n");
  BOOST_TEST(escape("\u00E9") == "\u00E9");
}

BOOST_AUTO_TEST_SUITE_END()
