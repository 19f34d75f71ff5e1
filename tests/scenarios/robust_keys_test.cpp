// The keys of robust rules, and what they do not go with.
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(robust_keys)

using namespace furlong;
using namespace furlong::scenarios;
using testing::check_says;

namespace {

using overrides = std::vector<setting_override>;

std::string problems_of(const char* rule, overrides changes) {
  changes.insert(changes.begin(), {"algorithm.aggregation.rule", rule});
  return testing::problems_with(changes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_keys_of_a_rule_reach_it) {
  const auto made = parse_scenario_text(testing::valid_scenario(), "t.toml",
                                        {{"algorithm.aggregation.rule", "multi-krum"},
                                         {"algorithm.aggregation.tolerate", "2"},
                                         {"algorithm.aggregation.before", "['arc', 'nnm']"},
                                         {"algorithm.aggregation.keep", "5"}});
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  const auto& rule = made->settings.aggregation->rule;
  BOOST_TEST(rule.options.number("tolerate") == 2.0);
  BOOST_TEST((rule.options.list("before") == std::vector<std::string>{"arc", "nnm"}));
  BOOST_TEST(rule.options.integer("keep") == 5);
  BOOST_TEST(rule.traits.holds_updates);
}

BOOST_AUTO_TEST_CASE(rules_that_hold_updates_are_refused_where_single_updates_are_not_seen) {
  const std::string why = ", and the rule median needs the updates of single clients";
  for (const auto& [key, value, what] : {std::tuple("participation.mode", "async", "is \"async\""),
                                         {"topology.nodes", "3", "is above 0"},
                                         {"algorithm.aggregation.noise", "0.1", "is above 0"},
                                         {"privacy.secure_aggregation", "true", "is true"}})
    check_says(problems_of("median", {{key, value}}), std::string(key) + ": " + what + why);
  check_says(problems_of("median", {{"privacy.noise", "1.0"}, {"privacy.clip", "1.0"}}),
             "privacy.noise: is above 0" + why);
  BOOST_TEST(problems_of("median", {{"topology.aggregators", "3"}}) == "");
}

BOOST_AUTO_TEST_CASE(sums_that_are_robust_go_with_all_but_what_must_stay_exact) {
  BOOST_TEST(problems_of("centred-clipping", {{"participation.mode", "async"}}) == "");
  BOOST_TEST(problems_of("buckets", {{"topology.nodes", "3"}}) == "");
  check_says(problems_of("buckets", {{"privacy.secure_aggregation", "true"}}),
             "privacy.secure_aggregation: hides single updates, and the rule buckets shows the server sums of a few");
  check_says(problems_of("arc", {{"privacy.noise", "1.0"}, {"privacy.clip", "1.0"}}),
             "privacy.noise: needs a rule that states how far one update moves the aggregate");
  check_says(problems_of("arc", {{"algorithm.kind", "scaffold"}}), "and scaffold does not work with it");
}

BOOST_AUTO_TEST_CASE(what_a_rule_must_tolerate_is_a_share_or_a_number_of_a_round) {
  const std::string tolerate = "algorithm.aggregation.tolerate";
  check_says(problems_of("median", {{tolerate, "0.5"}}), tolerate + ": is neither a share below one half nor a whole");
  check_says(problems_of("median", {{tolerate, "1.5"}}), tolerate + ": is neither a share below one half nor a whole");
  BOOST_TEST(problems_of("median", {{tolerate, "4"}}) == "");
  check_says(problems_of("median", {{tolerate, "5"}}),
             "participation.per_round: is 10, and median needs 11 updates to tolerate 5 bad ones");
  BOOST_TEST(problems_of("bulyan", {{tolerate, "0.1"}}) == "");
  check_says(problems_of("bulyan", {{tolerate, "0.2"}}),
             "participation.per_round: is 10, and bulyan needs 11 updates to tolerate 2 bad ones");
  check_says(problems_of("buckets", {{tolerate, "2"}, {"algorithm.aggregation.buckets", "4"}}),
             "algorithm.aggregation.buckets: is 4, and 5 buckets are needed");
  check_says(problems_of("buckets", {{tolerate, "0.2"}, {"algorithm.aggregation.buckets", "4"}}),
             "algorithm.aggregation.buckets: is 4, and 5 buckets are needed");
}

BOOST_AUTO_TEST_CASE(keys_of_steps_and_rows_that_are_not_chosen_have_no_effect) {
  const std::string table = "algorithm.aggregation.";
  const auto notes_of = [&](overrides changes) {
    changes.insert(changes.begin(), {table + "rule", "median"});
    std::string text;
    for (const auto& note : testing::parsed(changes).notes) text += note + "\n";
    return text;
  };
  BOOST_TEST(notes_of({{table + "clip", "3"}}) == table + "clip has no effect: before does not name \"clip\"\n");
  BOOST_TEST(notes_of({{table + "clip", "3"}, {table + "before", "['clip']"}}) == "");
  for (const auto* key : {"kappa", "row_quantile"}) {
    BOOST_TEST(notes_of({{table + key, "1"}}) == table + key + " has no effect: rows is \"whole\"\n");
    BOOST_TEST(notes_of({{table + key, "1"}, {table + "rows", "per-row"}}) == "");
  }
}

BOOST_AUTO_TEST_CASE(steps_before_a_rule_have_names) {
  const std::string before = "algorithm.aggregation.before";
  check_says(problems_of("median", {{before, "['nmn']"}}),
             before + ": names \"nmn\", which is no step; choose \"clip\", \"arc\" or \"nnm\"");
  check_says(problems_of("median", {{before, "['nnm']"}, {"algorithm.aggregation.rows", "per-row"}}),
             before + ": compares or shortens whole updates");
}

BOOST_AUTO_TEST_SUITE_END()
