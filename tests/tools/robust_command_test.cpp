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

// A run whose attack never begins has the same groups.
BOOST_AUTO_TEST_CASE(a_run_under_attack_has_figures_of_honest_and_of_bad_clients) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl").string();
  const auto summary_of = [&](const std::string& name, const std::vector<std::string>& settings) {
    std::vector<std::string> words = {"run", scenario, "--out", (folder / name).string()};
    for (const auto& setting : settings) words.insert(words.end(), {"--set", setting});
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return nlohmann::json::parse(std::ifstream(folder / name / "summary.json"));
  };
  const std::vector<std::string> attack = {"attack.kind=\"promote-item\"", "attack.target=[\"7\"]"};
  const auto attacked = summary_of("attacked", attack);
  auto later = attack;
  later.emplace_back("attack.from_round=1000");
  const auto clean = summary_of("clean", later);
  const auto plain = summary_of("plain", {});
  BOOST_TEST(plain.at("model_sha256") == clean.at("model_sha256"));
  BOOST_TEST(attacked.at("model_sha256") != clean.at("model_sha256"));
  for (const auto& summary : {attacked, clean}) {
    const auto& groups = summary.at("client_groups");
    BOOST_TEST(groups.at("bad").at("clients") == 10);  // of 96 that train
    BOOST_TEST(groups.at("honest").at("clients") == 110);
    const double success = summary.at("eval").at("seen").at("attack_success");
    BOOST_TEST(success >= 0.0);
    BOOST_TEST(success <= 1.0);
    BOOST_TEST(groups.at("honest").at("eval").at("seen").at("attack_success") == success);
    BOOST_TEST(!groups.at("bad").at("eval").at("seen").contains("attack_success"));
    BOOST_TEST(summary.at("participation").at("by_activity").size() == 5U);
  }
  BOOST_TEST(!plain.contains("client_groups"));
  BOOST_TEST(!plain.at("participation").contains("by_activity"));
}

BOOST_AUTO_TEST_SUITE_END()
