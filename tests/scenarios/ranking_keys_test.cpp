// The keys of [evaluation] about rankings.
#include "scenarios/schema/ranking_keys.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "federated/settings/evaluation.hpp"
#include "scenarios/schema/scenario.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(ranking_keys)

using namespace furlong;
using namespace furlong::scenarios;
using testing::check_says;
using testing::problems_with;

namespace {

using overrides = std::vector<setting_override>;

/// The valid scenario on interactions.
scenario ranking(const overrides& more = {}) {
  overrides all = {{"data.feedback", "implicit"}, {"data.split_by", "leave-one-out"}};
  all.insert(all.end(), more.begin(), more.end());
  auto read = parse_scenario_text(testing::valid_scenario(), "t.toml", all);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  return std::move(*read);
}

std::string problems_of_ranking(const setting_override& one) {
  return problems_with({{"data.feedback", "implicit"}, {"data.split_by", "leave-one-out"}, one});
}

}  // namespace

BOOST_AUTO_TEST_CASE(keys_set_how_items_are_ranked) {
  const auto usual = ranking().settings.evaluation->ranking;
  BOOST_TEST((usual.top == std::vector<std::uint32_t>{5, 10, 20}));
  BOOST_TEST((usual.full && usual.sampled && usual.one_held_out));
  BOOST_TEST(usual.candidates == 99U);
  BOOST_TEST(usual.exposed.empty());
  const auto other = ranking({{"evaluation.top", "[1, 3]"},
                              {"evaluation.candidates", "['full']"},
                              {"evaluation.sampled", "7"},
                              {"evaluation.exposed", "['3', '1']"}})
                         .settings.evaluation->ranking;
  BOOST_TEST((other.top == std::vector<std::uint32_t>{1, 3}));
  BOOST_TEST((other.full && !other.sampled));
  BOOST_TEST(other.candidates == 7U);
  BOOST_TEST((other.exposed == std::vector<std::string>{"3", "1"}));
  BOOST_TEST(!ranking({{"data.split_by", "time"}, {"data.split", "[0.6, 0.2, 0.2]"}})
                  .settings.evaluation->ranking.one_held_out);
}

BOOST_AUTO_TEST_CASE(values_without_meaning_are_refused) {
  check_says(problems_of_ranking({"evaluation.top", "[]"}), "has 0 numbers, and 1 to 8 are possible");
  check_says(problems_of_ranking({"evaluation.top", "[1, 2, 3, 4, 5, 6, 7, 8, 9]"}), "has 9 numbers");
  check_says(problems_of_ranking({"evaluation.top", "[5, 2.5]"}), "is no whole number");
  check_says(problems_of_ranking({"evaluation.top", "[5, 5]"}), "is not above the number before it");
  check_says(problems_of_ranking({"evaluation.candidates", "[]"}), "is empty: nothing would be ranked");
  check_says(problems_of_ranking({"evaluation.candidates", "['half']"}), "which is no set of candidates");
  check_says(problems_of_ranking({"evaluation.candidates", "['full', 'full']"}), "is repeated");
  check_says(problems_of_ranking({"evaluation.exposed", "['1', '1']"}), "is repeated");
  check_says(problems_with({{"data.feedback", "implicit"},
                            {"data.split_by", "leave-one-out"},
                            {"evaluation.candidates", "['sampled']"},
                            {"evaluation.exposed", "['1']"}}),
             "is about places among all items, which evaluation.candidates leaves out");
  BOOST_TEST(problems_of_ranking({"evaluation.top", "[0]"}) != "");
  BOOST_TEST(problems_of_ranking({"evaluation.sampled", "0"}) != "");
}

BOOST_AUTO_TEST_CASE(figures_of_rankings_can_be_compared_and_reached) {
  const overrides best = {
      {"evaluation.every", "1"}, {"evaluation.select", "best"}, {"evaluation.metric", "sampled_ndcg_10"}};
  BOOST_TEST(ranking(best).settings.evaluation->metric == "sampled_ndcg_10");
  check_says(problems_of_ranking({"evaluation.metric", "full_ndcg_7"}), "has no such figure on this data");
  check_says(problems_of_ranking({"evaluation.metric", "rmse"}), "has no such figure on this data");
  ranking({{"evaluation.target", "{metric = 'seen.full_hr_10', at_least = 0.1}"}, {"evaluation.every", "1"}});
}

BOOST_AUTO_TEST_CASE(keys_have_no_effect_on_ratings) {
  const auto read = parse_scenario_text(testing::valid_scenario(), "t.toml", {{"evaluation.top", "[3]"}});
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(read->notes.back() == "evaluation.top has no effect: the data are not interactions");
}

BOOST_AUTO_TEST_CASE(clients_without_a_test_item_are_counted) {
  testing::temporary_directory root;
  root.write("t.csv", "user,item\nann,a\nann,b\nann,c\nbob,a\ncid,a\ncid,b\n");
  auto text = testing::valid_scenario();
  const std::string old = "source = \"synthetic-ratings\"\nusers = 50\nitems = 60\nratings_per_user = 20\n";
  text.replace(text.find(old), old.size(),
               "source = \"interactions\"\npath = \"t.csv\"\nmin_interactions = 1\nsplit_by = \"leave-one-out\"\n");
  auto read = parse_scenario_text(text, "t.toml", {{"participation.per_round", "2"}});
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  const auto data = load_data(*read, root.path());
  BOOST_REQUIRE_MESSAGE(data.has_value(), testing::text_of(data));
  BOOST_REQUIRE(fit(*read, *data).has_value());
  const std::string note = "1 of 3 clients that train have no test item: the group seen is scored on the others";
  BOOST_TEST(std::ranges::count(read->notes, note) == 1);
}

BOOST_AUTO_TEST_CASE(exposed_items_are_those_of_the_data) {
  dataset data;
  data.item_ids = {10, 20, 30};
  scenario given;
  auto& how = given.settings.evaluation->ranking;
  how.exposed = {"30", "010"};
  BOOST_REQUIRE(settle_exposed(given, data).has_value());
  BOOST_TEST((how.exposed_items == std::vector<std::uint32_t>{0, 2}));
  how.exposed = {"40"};
  check_says(testing::text_of(settle_exposed(given, data)), "has \"40\", which is no item of the data");
  data.item_ids.clear();
  data.item_names = {"b", "a", "010"};
  how.exposed = {"a", "010"};
  BOOST_REQUIRE(settle_exposed(given, data).has_value());
  BOOST_TEST((how.exposed_items == std::vector<std::uint32_t>{1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
