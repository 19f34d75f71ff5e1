// The keys of [attack], and what they do not go with.
#include "federated/attack/attack.hpp"
#include "scenarios/schema/fit_attack.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(attack_keys)

using namespace furlong;
using namespace furlong::scenarios;
using testing::check_says;

namespace {

std::string problems_of(const char* kind, std::vector<setting_override> changes) {
  changes.insert(changes.begin(), {"attack.kind", kind});
  return testing::problems_with(changes);
}

/// The attacks that need not say what they want.
std::vector<const char*> indiscriminate_kinds() {
  std::vector<const char*> kinds;
  for (const auto& entry : federated::attacks())
    if (entry.names.empty()) kinds.push_back(entry.kind.c_str());
  return kinds;
}

}  // namespace

BOOST_AUTO_TEST_CASE(attacks_go_with_simulations_of_one_process) {
  BOOST_TEST(indiscriminate_kinds().size() >= 9U);
  for (const auto* kind : indiscriminate_kinds()) {
    BOOST_TEST(problems_of(kind, {{"attack.knows", "all"}}) == "");
    check_says(problems_of(kind, {{"attack.knows", "all"}, {"scenario.clock", "real"}}),
               "attack.kind: needs virtual time");
  }
}

// They are all 1.
BOOST_AUTO_TEST_CASE(interactions_have_no_labels_that_can_be_mirrored) {
  const setting_override implicit = {"data.feedback", "implicit"};
  const auto problems = problems_of("label-flip", {implicit});
  check_says(problems, "attack.kind: is \"label-flip\", and the labels of");
  check_says(problems, "are neither ratings nor classes that can be mirrored");
  BOOST_TEST(problems_of("sign-flip", {implicit}) == "");
}

BOOST_AUTO_TEST_CASE(clients_that_collude_need_a_round_and_one_process) {
  for (const auto& [key, value] : {std::pair("participation.mode", "async"), {"topology.nodes", "3"}}) {
    check_says(problems_of("alie", {{key, value}}),
               std::string("and the clients of attack.kind = \"alie\" make one update of those of a whole round"));
    BOOST_TEST(problems_of("sign-flip", {{key, value}}) == "");
  }
  check_says(problems_of("opt-ipm", {}), "attack.knows: is \"own\", and opt-ipm searches by what the rule makes");
  check_says(problems_of("ipm", {{"evaluation.attention", "true"}, {"algorithm.aggregation.rule", "fedatt"}}),
             "evaluation.attention: records updates when they arrive");
}

BOOST_AUTO_TEST_CASE(attacks_that_want_something_must_say_what) {
  for (const auto* kind : {"promote-item", "fedrec-attack"}) {
    check_says(problems_of(kind, {}), "attack.target: is empty, and attack.kind = \"" + std::string(kind) + "\" needs");
    BOOST_TEST(problems_of(kind, {{"attack.target", "['7']"}}) == "");
    BOOST_TEST(problems_of(kind, {{"attack.target", "['7']"}, {"participation.mode", "async"}}) == "");
  }
  check_says(problems_of("backdoor", {{"attack.trigger", "['7']"}}), "attack.kind: is \"backdoor\", and the labels of");
}

// The class alone knows what its examples are. (It is missing here, which is another problem.)
BOOST_AUTO_TEST_CASE(a_problem_of_another_program_poisons_its_examples_itself) {
  const auto problems = testing::text_of(parse_scenario_text(R"(
[scenario]
name = "own"
rounds = 1
[data]
source = "python"
[model]
kind = "python"
[python]
problem = "missing.py:Missing"
[algorithm]
kind = "fedavg"
[attack]
kind = "model-replacement"
strength = 5.0
trigger = ["a"]
label = 3
poison = 0.5
)",
                                                             "own.toml"));
  for (const std::string name : {"trigger", "label", "poison"})
    check_says(problems, "attack." + name + ": describes poisoned examples, and those of the data are the problem's");
  BOOST_TEST(problems.find("attack.strength") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(bad_clients_are_a_share_a_number_or_a_list) {
  BOOST_TEST(problems_of("ipm", {{"attack.clients", "3"}}) == "");
  check_says(problems_of("ipm", {{"attack.clients", "1.5"}}), "attack.clients: is neither a share below 1 nor a whole");
  check_says(problems_of("ipm", {{"attack.list", "[1.5]"}}), "attack.list: has a number that is none of a client");
  check_says(problems_of("ipm", {{"attack.list", "[1]"}, {"attack.clients", "3"}}),
             "attack.clients: has no meaning with attack.list");
}

BOOST_AUTO_TEST_CASE(keys_of_other_attacks_have_no_effect) {
  const auto notes_of = [](const std::vector<setting_override>& changes) {
    const auto read = parse_scenario_text(testing::valid_scenario(), "t.toml", changes);
    BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
    std::string text;
    for (const auto& note : read->notes) text += note + "\n";
    return text;
  };
  BOOST_TEST(notes_of({{"attack.clients", "3"}}) == "attack.clients has no effect: kind is \"none\"\n");
  BOOST_TEST(notes_of({{"attack.kind", "mimic"}, {"attack.strength", "3"}}) ==
             "attack.strength has no effect: kind is \"mimic\"\n");
  BOOST_TEST(notes_of({{"attack.kind", "gaussian"}, {"attack.knows", "all"}}) ==
             "attack.knows has no effect: kind is \"gaussian\"\n");
  BOOST_TEST(notes_of({{"attack.kind", "ipm"}, {"attack.direction", "sign"}}) ==
             "attack.direction has no effect: kind is \"ipm\"\n");
}

BOOST_AUTO_TEST_CASE(the_odds_of_more_bad_updates_are_those_of_a_draw_without_replacement) {
  BOOST_TEST(std::abs(odds_of_more(10, 3, 4, 0) - (1.0 - 35.0 / 210.0)) < 1e-12);
  BOOST_TEST(std::abs(odds_of_more(10, 3, 4, 1) - (63.0 + 7.0) / 210.0) < 1e-12);
  BOOST_TEST(std::abs(odds_of_more(10, 3, 4, 2) - 7.0 / 210.0) < 1e-12);
  BOOST_TEST(odds_of_more(10, 3, 4, 3) == 0.0);
  BOOST_TEST(std::abs(odds_of_more(5, 5, 2, 1) - 1.0) < 1e-12);
  BOOST_TEST(odds_of_more(10, 0, 4, 0) == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
