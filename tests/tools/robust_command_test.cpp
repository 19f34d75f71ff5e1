// What furlong validate says of robust rules and attacks.
#include "tests/tools/simulated_scenario.hpp"

BOOST_AUTO_TEST_SUITE(command_robust)

using namespace furlong::tests;

namespace {

std::string notes_with(const std::vector<std::string>& settings) {
  const scratch_folder folder;
  std::vector<std::string> words = {"validate", small_scenario(folder, "furl").string()};
  for (const auto& setting : settings) words.insert(words.end(), {"--set", setting});
  const auto done = run_furlong(folder, words);
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  return done.out;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(validate_names_the_bytes_that_the_server_holds) {
  const std::string held = "the server holds the single updates of a round: up to ";
  BOOST_TEST(says(notes_with({"algorithm.aggregation.rule=\"median\""}), held));
  BOOST_TEST(!says(notes_with({"algorithm.aggregation.rule=\"arc\""}), held));
}

BOOST_AUTO_TEST_CASE(validate_names_the_odds_of_more_bad_clients_than_a_rule_tolerates) {
  const std::string odds = "a uniform draw of 20 has more than the 2 that trimmed-mean tolerates with probability ";
  const std::string rule = "algorithm.aggregation.rule=\"trimmed-mean\"";
  BOOST_TEST(says(notes_with({rule, "attack.kind=\"ipm\""}), odds));
  BOOST_TEST(!says(notes_with({rule}), odds));
}

BOOST_AUTO_TEST_SUITE_END()
