// Configurations, means over seeds, and paired differences. tests/tools/compare_test.py compares with scipy.
#include "tools/compare/configurations.hpp"

#include <cmath>
#include <limits>

#include "tests/tools/reports.hpp"
#include "tools/compare/statistics.hpp"

namespace furlong::tests {

using tools::configuration;
using tools::configurations_of;
using tools::estimate_of;
using tools::seeded_value;

namespace {

run_record ended(const std::string& seed, const std::string& settings, const std::string& name = "films") {
  run_record run;
  run.directory = "runs/" + name + "-" + seed;
  run.name = name;
  run.seed = seed;
  run.algorithm = "furl";
  run.scenario = "[scenario]\nname = \"" + name + "\"\nseed = " + seed + "\n" + settings;
  run.summary.emplace();
  return run;
}

std::vector<std::string> labels(const std::vector<run_record>& runs) {
  std::vector<std::string> labels;
  for (const auto& one : configurations_of(runs)) labels.push_back(one.label);
  return labels;
}

using texts = std::vector<std::string>;
using indices = std::vector<std::size_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(statistics)

// The quantiles of Student's t for 1 and 4 degrees of freedom, from any table: 12.706205, 2.776445.
BOOST_AUTO_TEST_CASE(means_have_the_interval_of_student) {
  const auto two = estimate_of(std::vector{1.0, 3.0});
  BOOST_TEST(two.n == 2U);
  BOOST_TEST(two.mean == 2.0);
  BOOST_TEST(std::abs(*two.sd - std::sqrt(2.0)) < 1e-15);
  BOOST_TEST(std::abs(*two.high - 14.706204736) < 1e-8);
  BOOST_TEST(std::abs(*two.low + 10.706204736) < 1e-8);
  BOOST_TEST(!two.excludes_zero());
  const auto five = estimate_of(std::vector{1.0, 2.0, 3.0, 4.0, 5.0});
  BOOST_TEST(std::abs(*five.high - 3.0 - 2.7764451052 * std::sqrt(2.5 / 5.0)) < 1e-9);
  BOOST_TEST(five.excludes_zero());
}

BOOST_AUTO_TEST_CASE(one_value_has_no_spread_and_none_no_mean) {
  const auto one = estimate_of(std::vector{0.5});
  BOOST_TEST(one.mean == 0.5);
  BOOST_TEST((!one.sd && !one.low && !one.high && !one.excludes_zero()));
  BOOST_TEST(std::isnan(estimate_of({}).mean));
  const auto diverged = estimate_of(std::vector{1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1.0});
  BOOST_TEST(diverged.n == 2U);
  BOOST_TEST(*diverged.sd == 0.0);
}

BOOST_AUTO_TEST_CASE(equal_values_have_no_spread_at_all) {
  const auto same = estimate_of(std::vector{0.1, 0.1, 0.1});
  BOOST_TEST(same.mean == 0.1);
  BOOST_TEST(*same.sd == 0.0);
  // Nor an interval: they do not tell how much others would differ.
  BOOST_TEST((same.is_constant() && !same.low && !same.high && !same.excludes_zero()));
  BOOST_TEST(!estimate_of(std::vector{0.1}).is_constant());
}

// 0.91 - 0.9 and 0.81 - 0.8 are not the same number.
BOOST_AUTO_TEST_CASE(differences_that_are_equal_up_to_rounding_are_equal) {
  const std::vector<seeded_value> a{{"1", 0.9}, {"2", 0.8}, {"3", 0.31}};
  const auto apart = tools::paired_difference(a, std::vector<seeded_value>{{"1", 0.91}, {"2", 0.81}, {"3", 0.32}});
  BOOST_TEST((apart.n == 3U && apart.is_constant() && !apart.excludes_zero()));
  BOOST_TEST(std::abs(apart.mean - 0.01) < 1e-12);
  const auto near = tools::paired_difference(a, std::vector<seeded_value>{{"1", 0.91}, {"2", 0.81}, {"3", 0.32001}});
  BOOST_TEST((!near.is_constant() && near.excludes_zero()));
}

// Unpaired the spread of the seeds would hide the difference.
BOOST_AUTO_TEST_CASE(differences_are_those_within_a_seed) {
  const std::vector<seeded_value> a{{"1", 1.0}, {"2", 10.0}, {"3", 100.0}, {"9", 7.0}, {"1", 5.0}};
  const std::vector<seeded_value> b{{"3", 101.5}, {"1", 2.5}, {"2", 11.0}, {"8", 7.0}};
  const auto difference = tools::paired_difference(a, b);
  BOOST_TEST(difference.n == 3U);
  BOOST_TEST(std::abs(difference.mean - 4.0 / 3.0) < 1e-12);
  BOOST_TEST(difference.excludes_zero());
  BOOST_TEST(tools::paired_difference(a, std::vector<seeded_value>{{"4", 1.0}}).n == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(configurations)

BOOST_AUTO_TEST_CASE(runs_that_differ_in_the_seed_are_one_configuration) {
  const std::string slow = "[algorithm.client]\nlr = 0.1\n[data]\nsplit_seed = ";
  const std::string fast = "[algorithm.client]\nlr = 0.5\n[data]\nsplit_seed = ";
  const std::vector runs{ended("10", slow + "10"), ended("2", slow + "2"), ended("2", fast + "2"),
                         ended("10", fast + "10")};
  const auto all = configurations_of(runs);
  BOOST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].label == "lr=0.1");
  BOOST_TEST((all[0].runs == indices{1, 0}));  // by number, not as text
  BOOST_TEST((all[1].runs == indices{2, 3}));
  BOOST_TEST((all[0].settings == std::vector<std::pair<std::string, std::string>>{{"algorithm.client.lr", "0.1"}}));
}

BOOST_AUTO_TEST_CASE(keys_that_change_no_result_make_no_configuration) {
  const std::vector runs{ended("1", "[checkpoint]\nevery = 5\n[private]\nlayout = \"bucketed\"\n"),
                         ended("2", "[checkpoint]\nevery = 0\n[expect]\nrounds = {equals = 4}\n")};
  BOOST_TEST(configurations_of(runs).size() == 1U);
  BOOST_TEST((labels(runs) == texts{"films"}));
}

// A seed of the split that is fixed is the same for all runs, also for that whose own seed it happens to be.
BOOST_AUTO_TEST_CASE(a_fixed_split_is_no_split_that_follows_the_seed) {
  const auto split = [](const char* seed) { return std::string("[data]\nsplit_seed = ") + seed + "\n"; };
  const std::vector fixed{ended("1", split("2")), ended("2", split("2")), ended("3", split("2"))};
  BOOST_TEST(configurations_of(fixed).size() == 1U);
  const std::vector two{ended("1", split("1")), ended("3", split("3")), ended("1", split("7")), ended("3", split("7"))};
  BOOST_TEST((labels(two) == texts{"split_seed=scenario.seed", "split_seed=7"}));
}

BOOST_AUTO_TEST_CASE(labels_are_the_name_the_algorithm_and_what_differs) {
  auto a = ended("1", "[algorithm]\nkind = \"furl\"\n[algorithm.client]\nlr = 0.1\n", "tuned");
  auto b = ended("1", "[algorithm]\nkind = \"fedavg\"\n[algorithm.client]\nlr = 0.2\n", "tuned");
  b.algorithm = "fedavg";
  BOOST_TEST((labels({a, b}) == texts{"furl", "fedavg"}));
  const auto c = ended("1", "[algorithm]\nkind = \"furl\"\n[algorithm.client]\nlr = 0.3\n", "tuned");
  BOOST_TEST((labels({a, b, c}) == texts{"furl, lr=0.1", "fedavg", "furl, lr=0.3"}));
  const auto other = ended("1", "[algorithm]\nkind = \"furl\"\n[algorithm.client]\nlr = 0.9\n", "plain");
  BOOST_TEST((labels({a, other}) == texts{"tuned", "plain"}));
  BOOST_TEST((labels({a, c, other}) == texts{"tuned, lr=0.1", "tuned, lr=0.3", "plain"}));
  BOOST_TEST((labels({a}) == texts{"tuned"}));
}

BOOST_AUTO_TEST_CASE(tied_keys_give_one_part_of_a_label_and_equal_last_parts_the_whole_key) {
  const auto with = [](const char* client, const char* server, const char* rounds) {
    return ended("1", std::string("rounds = ") + rounds + "\n[algorithm.client]\nlr = " + client +
                          "\n[algorithm.server]\nlr = " + server + "\n");
  };
  BOOST_TEST((labels({with("0.1", "1.0", "5"), with("0.2", "2.0", "9")}) == texts{"lr=0.1", "lr=0.2"}));
  BOOST_TEST(
      (labels({with("0.1", "1.0", "5"), with("0.1", "2.0", "5"), with("0.2", "1.0", "5")}) ==
       texts{"algorithm.client.lr=0.1, algorithm.server.lr=1.0", "algorithm.client.lr=0.1, algorithm.server.lr=2.0",
             "algorithm.client.lr=0.2, algorithm.server.lr=1.0"}));
}

BOOST_AUTO_TEST_CASE(events_tell_configurations_apart) {
  const std::string at = "[[event]]\nat = \"round ";
  BOOST_TEST(
      configurations_of(std::vector{ended("1", at + "3\"\nleave = 2\n"), ended("1", at + "4\"\nleave = 2\n")}).size() ==
      2U);
}

BOOST_AUTO_TEST_CASE(failed_diverged_and_unfinished_runs_stand_beside) {
  std::vector runs{ended("1", ""), ended("2", ""), ended("3", ""), ended("4", "")};
  runs[1].summary->texts["failed"] = "training diverged: the loss is not finite";
  runs[2].summary->texts["failed"] = "no update was applied";
  runs[3].summary.reset();
  const auto all = configurations_of(runs);
  BOOST_REQUIRE(all.size() == 1U);
  BOOST_TEST((all[0].runs == indices{0}));
  BOOST_TEST((all[0].failed == indices{1, 2, 3}));
  BOOST_TEST(tools::state_word(runs[1]) == "diverged");
  BOOST_TEST(tools::state_word(runs[2]) == "failed");
  BOOST_TEST(tools::state_word(runs[3]) == "not ended");
}

// An alias is the word of a summary, which an interrupted run does not have.
BOOST_AUTO_TEST_CASE(an_interrupted_run_of_an_alias_belongs_to_the_others) {
  std::vector runs{ended("1", "[algorithm]\nkind = \"fedavg\"\n"), ended("2", "[algorithm]\nkind = \"fedavg\"\n")};
  runs[0].summary.reset();
  runs[0].algorithm = "fedavg";
  runs[1].algorithm = "fedatt";
  const auto all = configurations_of(runs);
  BOOST_REQUIRE(all.size() == 1U);
  BOOST_TEST(all[0].algorithm == "fedatt");
}

// Two versions of the program, or the same run twice: their differences are no spread over seeds.
BOOST_AUTO_TEST_CASE(no_seed_counts_twice) {
  std::vector runs{ended("1", ""), ended("2", ""), ended("1", ""), ended("2", "")};
  runs[2].directory = "old/films-1";
  runs[3].directory = "old/films-2";
  const auto all = configurations_of(runs);
  BOOST_REQUIRE(all.size() == 2U);
  BOOST_TEST((all[1].runs == indices{2, 3}));
  BOOST_TEST((labels(runs) == texts{"films (runs)", "films (old)"}));
  runs[2].directory = runs[3].directory = "runs/again";
  BOOST_TEST((labels({runs[0], runs[2]}) == texts{"films (films-1)", "films (again)"}));
  BOOST_TEST((labels({runs[0], runs[0]}) == texts{"films (films-1) #1", "films (films-1) #2"}));
}

BOOST_AUTO_TEST_CASE(a_run_in_one_place_without_values_of_clients_says_so) {
  std::vector runs{ended("1", "[algorithm]\nkind = \"furl\"\n", "a"),
                   ended("1", "[algorithm]\nkind = \"other\"\n", "b")};
  runs[1].algorithm = "central";
  runs[1].summary->figures["personalized"] = 0;
  BOOST_TEST((labels(runs) == texts{"a", "b (not personalized)"}));
  runs[1].summary->figures["personalized"] = 1;
  BOOST_TEST((labels(runs) == texts{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(runs_without_a_scenario_are_told_apart_by_what_is_known) {
  std::vector runs{ended("1", ""), ended("2", ""), ended("1", "")};
  for (auto& run : runs) run.scenario.clear();
  runs[2].algorithm = "fedavg";
  BOOST_TEST((labels(runs) == texts{"furl", "fedavg"}));
  BOOST_TEST(configurations_of({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
