// Values that replace those of the file, as --set does.
#include <boost/test/unit_test.hpp>

#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(overrides)

using namespace furlong;
using namespace furlong::scenarios;
using testing::parsed;
using testing::problems_with;
using testing::valid_scenario;

BOOST_AUTO_TEST_CASE(an_override_replaces_the_file_and_is_named_in_problems) {
  BOOST_TEST(parsed({{"model.rank", "7"}, {"model.rank", "8"}}).model.integer("rank") == 8);
  BOOST_TEST(problems_with({{"model.rank", "0"}}) == "--set model.rank: is 0, must be at least 1");
  BOOST_TEST(problems_with({{"algoritm.kind", "furl"}}) ==
             "--set algoritm.kind: unknown key; did you mean algorithm.kind?");
  BOOST_TEST(problems_with({{"algorithm.kind", "3"}}).starts_with("--set algorithm.kind: is 3, must be a text"));
  BOOST_TEST(problems_with({{"model.rank", "0", "--grid model.rank"}}) ==
             "--grid model.rank: is 0, must be at least 1");
  BOOST_TEST(problems_with({{"model.rank", "0", "--smoke"}}) == "--smoke: model.rank: is 0, must be at least 1");
  for (const std::string key : {"foo", "foo.bar"})
    BOOST_TEST(problems_with({{key, "1"}})
                   .starts_with("--set " + key + ": is in no known table; write TABLE.KEY; the tables are "));
  const auto epochs = parsed({{"scenario.epochs", "2"}, {"participation.fraction", "0.5"}});
  BOOST_TEST(!epochs.values.has("scenario.rounds"));
  BOOST_TEST(!epochs.values.has("participation.per_round"));
}

BOOST_AUTO_TEST_CASE(overrides_are_split_at_the_first_equals_sign) {
  const auto split = parse_override(" data.path = a=b ");
  BOOST_REQUIRE(split.has_value());
  BOOST_TEST(split->key == "data.path");
  BOOST_TEST(split->value == "a=b");
  BOOST_TEST(!parse_override("no-equals").has_value());
  BOOST_TEST((parse_override("=3").error().what == error::kind::usage));
}

BOOST_AUTO_TEST_CASE(overrides_are_utf8) {
  BOOST_TEST(testing::text_of(parse_override("data.path=\xFF")) ==
             "--set \"data.path=?\": is not UTF-8; write it in UTF-8");
}

BOOST_AUTO_TEST_CASE(a_text_that_could_pass_for_more_toml_stays_one_text) {
  const auto read = parse_scenario_text(valid_scenario(), "valid.toml", {{"scenario.name", "a\nseed = 3"}});
  BOOST_REQUIRE(!read);
  BOOST_TEST(read.error().size() == 1U);
  BOOST_TEST(read.error()[0].key == "scenario.name");
}

BOOST_AUTO_TEST_SUITE_END()
