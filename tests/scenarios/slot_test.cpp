// Algorithms and aggregation rules that a program registers: their keys, traits and checks. In an executable of its
// own: what it registers stays registered.
#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/schema/schema.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(algorithm_slot)

using namespace furlong;
using namespace furlong::scenarios;
using overrides = std::vector<setting_override>;
using testing::valid_scenario;

namespace {

class nothing final : public federated::algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const federated::run_settings&, std::uint64_t count) const override { return count; }
  void train(federated::local_task&) const override {}
};

/// An algorithm with two options, one of which may not be 13.
federated::algorithm_entry test_algorithm() {
  federated::algorithm_entry entry;
  entry.kind = "test-only";
  entry.doc = "An algorithm of this test.";
  entry.options = {{.name = "size", .type = option_type::integer, .fallback = std::int64_t{3}, .doc = "Size."},
                   {.name = "rate", .type = option_type::number, .fallback = 0.5, .doc = "Rate.", .at_least = 0.0}};
  entry.traits.private_tensors = federated::private_use::required;
  entry.traits.keeps_state = true;
  entry.traits.async = false;
  entry.traits.rules = {"uniform-mean", "test-rule"};
  entry.traits.defaults = {{"private.commit", std::string("after-ack")},
                           {"algorithm.aggregation.rule", std::string("uniform-mean")}};
  entry.check = [](federated::scenario_view& of) {
    if (of.is_good("algorithm.client.epochs") && of.given().integer("algorithm.client.epochs") > 5)
      of.report("algorithm.client.epochs", "is too many", "lower it");
    if (of.is_changed("algorithm.client.momentum")) of.note("momentum is looked at");
  };
  entry.build = [](const option_values& options) -> result<std::shared_ptr<const federated::algorithm>> {
    if (options.integer("size") == 13) return fail(error::kind::usage, "algorithm.test-only.size", "is 13", "take 12");
    return std::make_shared<const nothing>();
  };
  return entry;
}

federated::rule_entry test_rule() {
  auto entry = *federated::find_rule("uniform-mean");
  entry.kind = "test-rule";
  entry.doc = "A rule of this test.";
  entry.options = {{.name = "step", .type = option_type::number, .fallback = 1.0, .doc = "Step.", .at_least = 0.0}};
  return entry;
}

void register_both() {
  federated::register_algorithm(test_algorithm());
  federated::register_rule(test_rule());
}

tl::expected<scenario, std::vector<problem>> read(overrides changes) {
  register_both();
  changes.insert(changes.begin(), {"algorithm.kind", "test-only"});
  return parse_scenario_text(valid_scenario(), "t.toml", changes);
}

/// "key: reason" of the first problem; empty: none.
std::string first_problem(const overrides& changes) {
  const auto made = read(changes);
  return made ? std::string() : made.error().front().key + ": " + made.error().front().why;
}

}  // namespace

BOOST_AUTO_TEST_CASE(options_reach_the_scenario_and_survive_the_round_trip) {
  const auto made = read({{"algorithm.test-only.size", "7"},
                          {"algorithm.aggregation.rule", "test-rule"},
                          {"algorithm.aggregation.step", "0.25"}});
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  BOOST_TEST(made->settings.algorithm->kind == "test-only");
  BOOST_TEST(made->values.integer("algorithm.test-only.size") == 7);
  BOOST_TEST(made->values.number("algorithm.test-only.rate") == 0.5);
  BOOST_TEST(made->settings.aggregation->rule.options.number("step") == 0.25);
  BOOST_TEST((made->private_tensors == std::vector<std::string>{"user"}));
  const auto again = parse_scenario_text(resolved_toml(*made), "resolved.toml");
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(resolved_toml(*again) == resolved_toml(*made));
  BOOST_TEST(run_id(*again) == run_id(*made));
  BOOST_TEST(run_id(*made) != run_id(*read({{"algorithm.test-only.size", "8"}})));
}

BOOST_AUTO_TEST_CASE(defaults_of_the_traits_hold_unless_the_scenario_says_otherwise) {
  const auto made = read({});
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  BOOST_TEST((made->settings.own->commit == federated::commit_kind::after_ack));
  BOOST_TEST(made->settings.aggregation->rule.kind == "uniform-mean");
  const auto other = read({{"private.commit", "after-training"}});
  BOOST_REQUIRE(other.has_value());
  BOOST_TEST((other->settings.own->commit == federated::commit_kind::after_training));
}

// The rule is the default's in every check, and its keys are those of the scenario.
BOOST_AUTO_TEST_CASE(a_rule_by_default_is_the_rule_of_all_checks) {
  const auto noisy = read({{"privacy.clip", "1.0"}, {"privacy.noise", "0.1"}});
  BOOST_TEST(testing::text_of(noisy) == "");
  auto entry = test_algorithm();
  entry.traits.defaults.back().second = std::string("test-rule");
  federated::register_rule(test_rule());
  federated::register_algorithm(entry);
  const auto made = parse_scenario_text(valid_scenario(), "t.toml",
                                        {{"algorithm.kind", "test-only"}, {"algorithm.aggregation.step", "0.5"}});
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  BOOST_TEST(made->notes.empty());
  BOOST_TEST(made->settings.aggregation->rule.options.number("step") == 0.5);
  const auto again = parse_scenario_text(resolved_toml(*made), "resolved.toml");
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(run_id(*again) == run_id(*made));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_an_algorithm_is_not_registered) {
  auto entry = test_algorithm();
  entry.kind = "client";
  BOOST_CHECK_THROW(federated::register_algorithm(entry), std::invalid_argument);
  entry.kind = "other";
  entry.alias_of = "no-such";
  BOOST_CHECK_THROW(federated::register_algorithm(entry), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_rule_is_not_registered) {
  for (const auto* name : {"rule", "max_norm", "norm_bound", "max_weight", "noise", "noise_at", "step"}) {
    auto entry = test_rule();
    entry.kind = std::string("other-") + name;  // its name is not what is wrong
    entry.options.push_back(entry.options.front());
    entry.options.back().name = name;
    BOOST_CHECK_THROW(federated::register_rule(entry), std::invalid_argument);
  }
  auto entry = test_rule();
  entry.build = nullptr;
  BOOST_CHECK_THROW(federated::register_rule(entry), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_misspelt_kind_or_rule_is_one_problem) {
  register_both();
  const auto problems = [](overrides changes) {
    const auto made = parse_scenario_text(valid_scenario(), "t.toml", changes);
    return made ? 0U : made.error().size();
  };
  BOOST_TEST(problems({{"algorithm.kind", "test-onli"}, {"algorithm.test-only", "{size = 2}"}}) == 1U);
  BOOST_TEST(problems({{"algorithm.aggregation", "{rule = 'test-rul', step = 0.5}"}}) == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_traits_exclude_is_refused) {
  BOOST_TEST(first_problem({{"algorithm.aggregation.rule", "mean"}}) ==
             "algorithm.aggregation.rule: is \"mean\", and test-only does not work with it");
  BOOST_TEST(first_problem({{"participation.mode", "async"}, {"participation.concurrency", "10"}}) ==
             "participation.mode: is \"async\", and test-only does not work with it");
  BOOST_TEST(first_problem({{"model.private", "[]"}}) == "model.private: test-only needs at least one private tensor");
}

BOOST_AUTO_TEST_CASE(options_are_checked_and_misspelt_ones_found) {
  BOOST_TEST(first_problem({{"algorithm.test-only.rate", "-1"}}).starts_with("algorithm.test-only.rate: "));
  BOOST_TEST(first_problem({{"algorithm.test-only.size", "13"}}) == "algorithm.test-only.size: is 13");
  BOOST_TEST(first_problem({{"algorithm.client.epochs", "6"}}) == "algorithm.client.epochs: is too many");
  const auto misspelt = read({{"algorithm.test-only.sice", "2"}});
  BOOST_REQUIRE(!misspelt.has_value());
  BOOST_TEST(misspelt.error().front().fix == "did you mean algorithm.test-only.size?");
  const auto noted = read({{"algorithm.client.momentum", "0.5"}});
  BOOST_REQUIRE(noted.has_value());
  BOOST_TEST(noted->notes == std::vector<std::string>{"momentum is looked at"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(options_that_list_tensors_are_checked_by_the_model) {
  const auto of = [](const std::string& names) {
    return parse_scenario_text(valid_scenario(), "t.toml",
                               {{"algorithm.kind", "ditto"}, {"algorithm.ditto.personal", names}});
  };
  const auto made = of("[\"u*\"]");
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  BOOST_TEST(made->values.list("algorithm.ditto.personal") == std::vector<std::string>{"user"},
             boost::test_tools::per_element());
  const auto misspelt = of("[\"usr\"]");
  BOOST_REQUIRE(!misspelt.has_value());
  BOOST_TEST(misspelt.error().front().key.starts_with("algorithm.ditto.personal"));
  BOOST_TEST(misspelt.error().front().fix == "did you mean \"user\"?");
}

BOOST_AUTO_TEST_CASE(settings_that_change_the_step_are_refused_where_the_algorithm_takes_its_own) {
  for (const std::string kind : {"pfedme", "apfl"})
    for (const auto& [name, value, origin] :
         overrides{{"momentum", "0.5"}, {"proximal", "0.1"}, {"optimizer", "adam"}}) {
      const auto made = parse_scenario_text(valid_scenario(), "t.toml",
                                            {{"algorithm.kind", kind}, {"algorithm.client." + name, value}});
      BOOST_REQUIRE(!made.has_value());
      BOOST_TEST(made.error().front().key == "algorithm.client." + name);
      BOOST_TEST(made.error().front().why == "is set, and " + kind + " takes plain gradient steps");
    }
  const auto far = parse_scenario_text(valid_scenario(), "t.toml",
                                       {{"algorithm.kind", "pfedme"}, {"algorithm.pfedme.outer_lr", "0.2"}});
  BOOST_REQUIRE(!far.has_value());
  BOOST_TEST(far.error().front().key == "algorithm.pfedme.outer_lr");
  const auto mean = parse_scenario_text(valid_scenario(), "t.toml",
                                        {{"algorithm.kind", "pfedme"}, {"algorithm.aggregation.rule", "mean"}});
  BOOST_REQUIRE(!mean.has_value());
  BOOST_TEST(mean.error().front().why == "is \"mean\", and pfedme does not work with it");
}

// One file serves a sweep over kinds.
BOOST_AUTO_TEST_CASE(keys_of_what_is_not_chosen_are_checked_and_noted) {
  register_both();
  const auto made = parse_scenario_text(valid_scenario(), "t.toml",
                                        {{"algorithm.test-only.size", "7"}, {"algorithm.aggregation.step", "0.5"}});
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  const std::vector<std::string> expected = {"algorithm.test-only.size has no effect: algorithm.kind is \"furl\"",
                                             "algorithm.aggregation.step has no effect: aggregation.rule is \"mean\""};
  BOOST_TEST(made->notes == expected, boost::test_tools::per_element());
  BOOST_TEST(resolved_toml(*made).find("test-only") == std::string::npos);
  const auto wrong = parse_scenario_text(valid_scenario(), "t.toml", {{"algorithm.test-only.size", "\"x\""}});
  BOOST_TEST(!wrong.has_value());
}

BOOST_AUTO_TEST_CASE(the_reference_has_what_is_registered) {
  register_both();
  const auto text = scenario_reference_markdown();
  for (const char* part : {"### kind = \"test-only\"", "An algorithm of this test.", "| `size` |",
                           "### rule = \"test-rule\"", "| `step` |"})
    BOOST_TEST(text.find(part) != std::string::npos, part);
}

// A rule that leaves out updates would part the server's sums from what clients keep.
BOOST_AUTO_TEST_CASE(exact_state_refuses_robust_rules) {
  auto entry = test_algorithm();
  entry.kind = "test-exact";
  entry.traits.exact_state = true;
  entry.traits.rules = {};
  entry.traits.defaults = {{"private.commit", std::string("after-ack")}};
  federated::register_algorithm(entry);
  const auto read = [](const char* rule) {
    return testing::text_of(parse_scenario_text(
        valid_scenario(), "t.toml", {{"algorithm.kind", "test-exact"}, {"algorithm.aggregation.rule", rule}}));
  };
  BOOST_TEST(read("uniform-mean") == "");
  for (const auto* rule : {"median", "arc", "buckets"})
    testing::check_says(read(rule),
                        "which leaves out or changes updates, and the server values of test-exact must stay");
}

BOOST_AUTO_TEST_SUITE_END()
