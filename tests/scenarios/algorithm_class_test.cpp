// Scenarios with the algorithm of a Python class, as who does not have the class reads them, and what names none.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(algorithm_classes)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

/// A scenario of a Python class without the class, as servers send it.
std::string sent(const std::string& algorithm, const std::string& more = {}) {
  return "[scenario]\nname = \"sent\"\nrounds = 2\n[data]\nsource = \"python\"\n[model]\nkind = \"python\"\n"
         "parameters = [\"weights 1x3\", \"own 1x1\"]\nprivate = [\"own\"]\n[participation]\nper_round = 2\n" +
         more + "[algorithm]\n" + algorithm;
}

const std::string described =
    "kind = \"python\"\n[algorithm.python]\ngroups = [\"c shared 0 sum 64 = shared\", \"last kept 0 = shared\"]\n"
    "traits = [\"private allowed\", \"exact state\", \"rule uniform-mean\"]\nmu = 2.0\n";

scenario believed(const std::string& text) {
  auto read = parse_node_scenario(text);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  return *read;
}

std::string refusal(const std::string& text) {
  std::string all;
  if (const auto read = parse_scenario_text(text, "own.toml"); !read)
    for (const auto& one : read.error()) all += one.text() + "\n";
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_does_not_have_the_class_knows_what_the_scenario_says_of_it) {
  const auto got = believed(sent(described));
  BOOST_TEST(got.settings.algorithm->kind == "python");
  const auto& traits = got.settings.algorithm->traits;
  BOOST_TEST(traits.keeps_state);
  BOOST_TEST(traits.exact_state);
  BOOST_TEST((got.settings.own->commit == federated::commit_kind::after_ack));
  BOOST_TEST(got.values.text("algorithm.aggregation.rule") == "uniform-mean");
  BOOST_TEST(got.values.number("algorithm.python.mu") == 2.0);
  BOOST_TEST(got.data.number("algorithm.mu") == 2.0);
  BOOST_TEST(got.private_tensors == std::vector<std::string>{"own"}, boost::test_tools::per_element());
  const auto again = believed(node_toml(got));
  BOOST_TEST(again.values.number("algorithm.python.mu") == 2.0);
  BOOST_TEST(run_id(again) == run_id(believed(node_toml(again))));
  BOOST_TEST(check_size(got, {10, 4, models::objective::custom}).has_value());
  BOOST_TEST(run_id(got) != run_id(believed(sent(described + "tau = 1\n"))));
}

BOOST_AUTO_TEST_CASE(private_tensors_are_kept_too) {
  const std::string traits = "kind = \"python\"\npython = {traits = [\"private allowed\"]}\n";
  BOOST_TEST(believed(sent(traits)).settings.algorithm->traits.keeps_state);
  auto none = sent(traits);
  none.replace(none.find("private = [\"own\"]\n"), 18, "");
  BOOST_TEST(!believed(none).settings.algorithm->traits.keeps_state);
  auto ignored = sent(traits);
  ignored.replace(ignored.find("private allowed"), 15, "private ignored");
  BOOST_TEST(!believed(ignored).settings.algorithm->traits.keeps_state);
  BOOST_TEST(believed(ignored).private_tensors.empty());
}

BOOST_AUTO_TEST_CASE(what_an_algorithm_needs_holds_for_it) {
  BOOST_TEST(refusal(sent(described, "[private]\ncommit = \"after-training\"\n"))
                 .find("private.commit: is \"after-training\", which keeps the values of lost updates too") !=
             std::string::npos);
  BOOST_TEST(
      refusal(sent("kind = \"python\"\naggregation = {rule = \"mean\"}\n" + described.substr(16)))
          .find("algorithm.aggregation.rule: is \"mean\", and python does not work with it; choose uniform-mean") !=
      std::string::npos);
  auto plain = sent(described, "[algorithm.client]\nmomentum = 0.5\n");
  plain.replace(plain.find("private allowed"), 0, "plain steps\", \"");
  BOOST_TEST(
      refusal(plain).find("algorithm.client.momentum: is set, and the class of the algorithm takes plain gradient "
                          "steps; remove it") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_algorithm_without_its_class_is_refused) {
  const std::string missing =
      "algorithm.kind: is \"python\", and the scenario names no class; write algorithm = "
      "\"FILE.py:CLASS\" in [python], with data.source = \"python\"\n";
  BOOST_TEST(refusal(sent("kind = \"python\"\n")).ends_with(missing));
  auto ratings = testing::valid_scenario();
  const std::string furl = "kind = \"furl\"";
  BOOST_REQUIRE(ratings.find(furl) != std::string::npos);
  ratings.replace(ratings.find(furl), furl.size(), "kind = \"python\"");
  BOOST_TEST(refusal(ratings).ends_with(missing));
}

BOOST_AUTO_TEST_CASE(a_description_that_is_not_understood_is_refused) {
  BOOST_TEST(refusal(sent("kind = \"python\"\npython = {groups = [\"a kept = all\"]}\n"))
                 .find("algorithm.python.groups: has \"a kept = all\", which does not read") != std::string::npos);
  BOOST_TEST(refusal(sent("kind = \"python\"\npython = {traits = [\"private\"]}\n"))
                 .find("algorithm.python.traits: has \"private\", which is no trait; remove the key") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_server_optimizer_is_that_of_the_model) {
  const auto noted = [](const std::string& server) {
    const auto notes = believed(sent(described + "[algorithm.server]\n" + server)).notes;
    return std::ranges::any_of(notes, [](const auto& note) { return note.starts_with("algorithm.server acts on"); });
  };
  BOOST_TEST(noted("lr = 0.5\n"));
  BOOST_TEST(noted("optimizer = \"adam\"\n"));
  BOOST_TEST(!noted("lr = 1.0\n"));
}

BOOST_AUTO_TEST_CASE(options_of_a_class_have_no_effect_under_other_kinds) {
  const auto read = parse_scenario_text(
      testing::valid_scenario() + "[algorithm.python]\nmu = 1.0\ngroups = [\"a kept 0 = model\"]\n", "own.toml");
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  const auto& notes = read->notes;
  for (const std::string key : {"mu", "groups"})
    BOOST_TEST((std::ranges::find(notes, "algorithm.python." + key + " has no effect: algorithm.kind is \"furl\"") !=
                notes.end()));
  BOOST_TEST(!read->values.has("algorithm.python.mu"));
}

BOOST_AUTO_TEST_CASE(a_node_names_its_own_class) {
  const auto got = believed(sent(described));
  BOOST_TEST(testing::text_of(own_settings(got, "", {"f.py:P"}, "")).starts_with("--algorithm: is missing: "));
  const auto own = own_settings(got, "", {"f.py:P", "/mine/g.py:A"}, "");
  BOOST_REQUIRE(own.has_value());
  BOOST_TEST(own->back().key == "python.algorithm");
  BOOST_TEST(own->back().value == "/mine/g.py:A");
  const auto other = believed(sent("kind = \"fedavg\"\n"));
  BOOST_TEST(own_settings(other, "", {"f.py:P"}, "").has_value());
  BOOST_TEST(testing::text_of(own_settings(other, "", {"f.py:P", "g.py:A"}, "")).find("g.py:A would not be used") !=
             std::string::npos);
  auto named = sent(described, "[python]\nalgorithm = \"moon.py:Moon\"\n");
  BOOST_TEST(testing::text_of(parse_node_scenario(named)).find("names a file of this machine in python.algorithm") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_class_of_an_algorithm_needs_that_of_a_problem) {
  BOOST_TEST(refusal(sent("kind = \"python\"\n", "[python]\nalgorithm = \"moon.py:Moon\"\n"))
                 .find("python.algorithm: is set, and python.problem is not; name the class of the problem too") !=
             std::string::npos);
}

// Code of this machine that a server chooses would run with what the server says.
BOOST_AUTO_TEST_CASE(no_file_that_a_server_names_is_opened) {
  const testing::temporary_directory folder;
  const auto mark = folder.path() / "mark";
  const auto spy = folder.write("spy.py", "open('" + mark.string() + "', 'w')\n").string() + ":Spy";
  const auto table = "[python]\nproblem = \"" + spy + "\"\n";
  for (const auto& text :
       {sent("kind = \"fedavg\"\n", table), sent("kind = \"fedavg\"\n", "[smoke]\n[smoke." + table.substr(1)),
        "python = {problem = \"" + spy + "\"}\n" + sent("kind = \"fedavg\"\n"),
        sent(described, table + "algorithm = \"" + spy + "\"\n")}) {
    BOOST_TEST(testing::text_of(parse_node_scenario(text)).ends_with("; trust another server"));
    BOOST_TEST(!std::filesystem::exists(mark));
  }
}

BOOST_AUTO_TEST_SUITE_END()
