// Successive halving: its rungs against the paper's equations, ranking, drawn settings.
#include "tools/sweep/halving.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "tools/sweep/tuning.hpp"
#include "tools/sweep/value_range.hpp"

BOOST_AUTO_TEST_SUITE(halving)

using namespace furlong;
using namespace furlong::tools;

namespace {

std::vector<rung> rungs_of(const halving_request& of) {
  auto rungs = plan_rungs(of);
  BOOST_REQUIRE(rungs);
  return *rungs;
}

std::vector<double> numbers_in(const grid_option& option) {
  const auto axes = parse_grid({{option.text, false}});
  BOOST_REQUIRE(axes);
  std::vector<double> values;
  for (const auto& value : axes->front().values) values.push_back(std::stod(value.written));
  return values;
}

std::vector<value_range> ranges_of(const std::vector<std::string>& texts) {
  auto ranges = parse_ranges(texts);
  BOOST_REQUIRE(ranges);
  return *ranges;
}

}  // namespace

// Algorithm 1: r_k = floor(B / (|S_k| ceil(log2 n))) further rounds in rung k, |S_k| halved.
BOOST_AUTO_TEST_CASE(each_rung_gets_its_share_of_the_budget) {
  for (const std::size_t n : {2U, 3U, 8U, 16U, 27U, 100U})
    for (const std::size_t factor : {2U, 3U, 4U})
      for (const std::size_t seeds : {1U, 3U}) {
        const std::uint64_t budget = 40'000;
        const auto rungs = rungs_of({n, seeds, 1'000'000, factor, budget});
        std::size_t count = 0;
        for (std::size_t reach = 1; reach < n; reach *= factor) ++count;  // ceil(log_factor(n))
        BOOST_REQUIRE(rungs.size() == count);
        BOOST_TEST(rungs.front().settings == n);
        std::uint64_t before = 0;
        for (std::size_t k = 0; k < count; ++k) {
          BOOST_TEST(rungs[k].rounds - before == budget / seeds / count / rungs[k].settings);
          if (k > 0) BOOST_TEST(rungs[k].settings == (rungs[k - 1].settings + factor - 1) / factor);
          before = rungs[k].rounds;
        }
        BOOST_TEST(rungs.back().settings > 1U);
        BOOST_TEST(rungs.back().settings <= factor);
        BOOST_TEST(rounds_of(rungs, seeds) <= budget);
        BOOST_TEST(rounds_of(rungs, seeds) > budget - seeds * n * count - seeds * count);
      }
}

BOOST_AUTO_TEST_CASE(without_a_budget_the_last_rung_ends_whole) {
  for (const std::size_t n : {2U, 5U, 16U, 30U}) {
    const auto rungs = rungs_of({n, 2, 500, 2, std::nullopt});
    BOOST_TEST(rungs.back().rounds == 500U);
    BOOST_TEST(rungs.front().rounds > 0U);
    for (std::size_t k = 1; k < rungs.size(); ++k) BOOST_TEST(rungs[k].rounds > rungs[k - 1].rounds);
  }
  // 16 settings, factor 2: B / 4 (1/16 + 1/8 + 1/4 + 1/2) = R, so that B = 64/15 R.
  const auto spent = rounds_of(rungs_of({16, 1, 1500, 2, std::nullopt}), 1);
  BOOST_TEST(std::abs(static_cast<double>(spent) - 64.0 / 15.0 * 1500.0) < 20.0);
}

BOOST_AUTO_TEST_CASE(no_run_is_longer_than_a_whole_one_nor_without_a_round) {
  for (const auto& one : rungs_of({9, 1, 10, 3, 100'000})) BOOST_TEST(one.rounds == 10U);
  BOOST_TEST(!plan_rungs({9, 2, 10, 3, 35}));  // 9 settings, 2 seeds, 2 rungs
  BOOST_TEST(plan_rungs({9, 2, 10, 3, 36}).has_value());
  BOOST_TEST(!plan_rungs({1, 1, 10, 3, std::nullopt}));
}

BOOST_AUTO_TEST_CASE(runs_without_a_result_are_last) {
  const std::vector<std::optional<double>> figures = {3.0, std::nullopt, 1.0, 3.0, std::nullopt};
  BOOST_TEST(ranked(figures, true) == (std::vector<std::size_t>{2, 0, 3, 1, 4}), boost::test_tools::per_element());
  BOOST_TEST(ranked(figures, false) == (std::vector<std::size_t>{0, 3, 2, 1, 4}), boost::test_tools::per_element());
}

// Figures of other examples are ranked, and said to be.
BOOST_AUTO_TEST_CASE(rungs_of_unequal_examples_are_warned_of) {
  tuning of;
  of.seeds = {1, 2};
  of.rungs = {{3, 5}, {2, 10}};
  for (const char* label : {"lr=0.1", "lr=0.2", "lr=0.4"}) {
    auto& setting = of.settings.emplace_back();
    setting.label = label;
    for (std::size_t seed = 0; seed < 2; ++seed) setting.runs.emplace_back().figures = {{5, 0.5, 34, 9}};
  }
  of.settings[2].runs[0].figures = {{5, std::nullopt, 0, 0}};  // it diverged
  BOOST_TEST(of.warnings().empty());
  of.settings[1].runs[1].figures[0].examples = 51;
  BOOST_REQUIRE(of.warnings().size() == 1U);
  BOOST_TEST(of.warnings()[0] ==
             "rung 1 ranks figures that are not of the same examples: 34 examples of 9 clients (lr=0.1 and 1 more), "
             "51 examples of 9 clients (lr=0.2)");
  of.settings[1].runs[1].figures[0] = {5, 0.5, 34, 8};
  BOOST_TEST(of.warnings().size() == 1U);
}

// Of a Latin hypercube every part of every range has one value.
BOOST_AUTO_TEST_CASE(every_part_of_a_range_is_drawn_once) {
  constexpr std::size_t count = 40;
  const auto ranges = ranges_of({"a.lr=log:1e-3..1", "b.x=-2..2.5", "c.n=1..40"});
  BOOST_TEST(!ranges[0].whole);
  BOOST_TEST(!ranges[1].whole);
  BOOST_TEST(ranges[2].whole);
  const auto drawn = draw_settings(ranges, count, 7);
  BOOST_REQUIRE(drawn.size() == 3U);
  BOOST_TEST(!drawn[0].tied);
  BOOST_TEST(drawn[1].tied);
  std::set<int> parts[3];
  for (const double lr : numbers_in(drawn[0])) parts[0].insert(int(std::floor((std::log10(lr) + 3.0) / 3.0 * count)));
  for (const double x : numbers_in(drawn[1])) parts[1].insert(int(std::floor((x + 2.0) / 4.5 * count)));
  for (const double n : numbers_in(drawn[2])) parts[2].insert(int(n) - 1);
  for (const auto& one : parts) {
    BOOST_TEST(*one.begin() >= 0);
    BOOST_TEST(*one.rbegin() < int(count));
    BOOST_TEST(one.size() >= count - 1);  // a value with four digits may be in the next part
  }
  BOOST_TEST(parts[2].size() == count);
  BOOST_TEST(draw_settings(ranges, count, 7)[0].text == drawn[0].text);
  BOOST_TEST(draw_settings(ranges, count, 8)[0].text != drawn[0].text);
  BOOST_TEST(numbers_in(draw_settings(ranges_of({"n=1..3"}), 12, 1)[0]).size() == 3U);  // equal ones once
}

BOOST_AUTO_TEST_CASE(wrong_ranges_are_all_told) {
  for (const char* text : {"lr", "lr=1", "lr=1..", "lr=a..b", "lr=2..1", "lr=1..1", "lr=log:0..1", "lr=log:-1..1",
                           "lr=1..inf", "lr=1..2..3"})
    BOOST_TEST(!parse_ranges({text}), text);
  BOOST_TEST(parse_ranges({"a=1", "b=2", "c=1..2"}).error().size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
