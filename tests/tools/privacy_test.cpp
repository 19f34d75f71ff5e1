// furlong privacy, and privacy.target_epsilon of runs, as processes.
#include <set>
#include <sstream>

#include "tests/tools/simulated_scenario.hpp"

BOOST_AUTO_TEST_SUITE(command_privacy)

using namespace furlong::tests;
using nlohmann::json;

namespace {

json privacy_of(const scratch_folder& folder, std::vector<std::string> words) {
  words.insert(words.begin(), "privacy");
  words.insert(words.end(), {"--format", "json"});
  const auto done = run_furlong(folder, words);
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  return json::parse(done.out);
}

/// Clipped, noisy and without weights.
std::vector<std::string> noisy_run(const std::filesystem::path& scenario, const std::filesystem::path& out,
                                   std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"run",   scenario,
                                    "--out", out,
                                    "--set", "privacy.clip=1.0",
                                    "--set", "privacy.noise=1.2",
                                    "--set", "algorithm.aggregation.rule=\"uniform-mean\""};
  for (auto& setting : more) words.insert(words.end(), {"--set", std::move(setting)});
  return words;
}

void run_well(const scratch_folder& folder, const std::vector<std::string>& words) {
  const auto done = run_furlong(folder, words);
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
}

/// small_scenario() with Poisson sampling.
std::filesystem::path drawn_scenario(const scratch_folder& folder) {
  const auto scenario = small_scenario(folder, "furl", 12);
  auto text = read_file(scenario);
  const std::string cohort = "per_round = 20";
  text.replace(text.find(cohort), cohort.size(), "policy = \"poisson\"\nrate = 0.2\ncap = 96");
  std::ofstream(scenario) << text << "[privacy]\ndelta = 1e-5\n";
  return scenario;
}

}  // namespace

BOOST_AUTO_TEST_CASE(accounts_for_a_described_mechanism) {
  const scratch_folder folder;
  const auto drawn =
      privacy_of(folder, {"--noise", "1", "--rate", "0.02069536423841", "--rounds", "500", "--delta", "1e-4"});
  BOOST_TEST(std::abs(drawn["epsilon"].get<double>() - 2.3953) < 1e-3);
  BOOST_TEST(std::abs(drawn["rdp"]["epsilon"].get<double>() - 2.7594) < 5e-5);
  BOOST_TEST(drawn["relation"] == "add-or-remove-one");
  BOOST_TEST(drawn["accountant"] == "pld");
  const auto fixed = privacy_of(
      folder, {"--noise", "2", "--cohort", "100", "--clients", "4832", "--rounds", "500", "--delta", "1e-4"});
  BOOST_TEST(std::abs(fixed["epsilon"].get<double>() - 2.867) < 1e-3);
  BOOST_TEST(fixed["accountant"] == "pld");
  BOOST_TEST(fixed["relation"] == "replace-one");
  const auto plain = privacy_of(folder, {"--noise", "2", "--participations", "11", "--delta", "1e-4"});
  BOOST_TEST(std::abs(plain["epsilon"].get<double>() - 7.02) < 5e-3);
  BOOST_TEST(plain["relation"] == "zero-out-one");
  const auto found = privacy_of(folder, {"--epsilon", "3", "--participations", "11", "--delta", "1e-4"});
  BOOST_TEST(found["noise"].get<double>() > 4.0);
  BOOST_TEST(found["epsilon"].get<double>() <= 3.0);
  BOOST_TEST(found["epsilon"].get<double>() > 2.99);
}

BOOST_AUTO_TEST_CASE(refuses_half_a_description) {
  const scratch_folder folder;
  const std::vector<std::vector<std::string>> all = {
      {},
      {"--noise", "1", "--rate", "0.1", "--rounds", "5"},
      {"--noise", "1", "--epsilon", "1", "--rate", "0.1", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--rate", "0.1", "--cohort", "5", "--clients", "9", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--cohort", "50", "--clients", "9", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--rate", "0.1", "--cap", "9", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--rate", "0.1", "--delta", "1e-5"},
      {"--noise", "1", "--participations", "3", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--rate", "1.1", "--rounds", "5", "--delta", "1e-5"},
      {"--noise", "1", "--rate", "0.1", "--rounds", "5", "--delta", "1"},
      {"--noise", "-1", "--rate", "0.1", "--rounds", "5", "--delta", "1e-5"}};
  for (auto words : all) {
    words.insert(words.begin(), "privacy");
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code != 0);
    BOOST_TEST(!done.err.empty());
    BOOST_TEST(done.out.empty());
  }
}

// The figure before a run, in its summary, and of its folder are the same; and a described mechanism gives it too.
BOOST_AUTO_TEST_CASE(a_run_is_accounted_for) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 6);
  const auto out = folder / "run";
  run_well(folder, noisy_run(scenario, out));
  const auto summary = summary_of(out)["privacy"];
  // 20 of the 96 clients that train, in a real clock without faults.
  const auto described = privacy_of(folder, {"--noise", "1.2", "--cohort", "20", "--clients", "96", "--rounds", "6",
                                             "--delta", std::to_string(std::pow(96, -1.1))});
  BOOST_TEST(std::abs(summary["epsilon"].get<double>() - described["epsilon"].get<double>()) < 1e-3);
  BOOST_TEST(summary["sampling"] == "fixed-size");
  BOOST_TEST(summary["simulated"] == true);
  BOOST_TEST(summary["unit"] == "client");
  const auto of_run = privacy_of(folder, {out.string()});
  BOOST_TEST(of_run == summary);
  const auto stricter = privacy_of(folder, {out.string(), "--delta", "1e-6"});
  BOOST_TEST(stricter["epsilon"].get<double>() > summary["epsilon"].get<double>());
  const auto said = run_furlong(folder, {"validate", out / "scenario.toml", "--format", "json"});
  char epsilon[32];
  std::snprintf(epsilon, sizeof epsilon, "epsilon %.4g for", summary["epsilon"].get<double>());
  BOOST_TEST(said.out.find(epsilon) != std::string::npos, said.out);
  const auto text = run_furlong(folder, {"privacy", out}).out;
  for (const char* part : {"replace-one", "assumes:", "not covered:", "simulated privacy", "private tensors"})
    BOOST_TEST(text.find(part) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(many_runs_on_the_same_clients_are_noted) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg", 2);
  const std::string note = "epsilon and delta of all runs on the same clients add up";
  const auto many = [&](const std::string& command, const std::vector<std::string>& more) {
    auto words = noisy_run(scenario, folder / command);
    words.front() = command;
    words.insert(words.end(), more.begin(), more.end());
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 0, done.err);
    BOOST_TEST(done.err.find(note) == done.err.rfind(note), done.err);
    return done.err;
  };
  const std::vector<std::string> rates = {"--grid", "algorithm.client.lr=0.02,0.05"};
  const auto swept = many("sweep", rates);
  BOOST_TEST(swept.find("note: privacy.noise: epsilon is that of one run; " + note) != std::string::npos, swept);
  const auto tuned = many("tune", {rates[0], rates[1], "--metric", "eval.validation.rmse"});
  BOOST_TEST(tuned.find(note) != std::string::npos, tuned);
  const auto plain = run_furlong(folder, {"sweep", scenario, "--out", folder / "plain", rates[0], rates[1]});
  BOOST_TEST(plain.err.find(note) == std::string::npos, plain.err);
}

// With a secret key a run cannot be repeated, and nothing of the key is left in its folder. Losses of single clients
// are nowhere.
BOOST_AUTO_TEST_CASE(a_secret_key_is_drawn_for_each_run) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 4);
  std::set<std::string> models;
  for (const std::string key : {"secret", "secret", "seed", "auto"}) {
    const auto out = folder / ("run-" + std::to_string(models.size()) + key);
    run_well(folder, noisy_run(scenario, out, {"privacy.noise_key=\"" + key + "\""}));
    const auto summary = summary_of(out);
    models.insert(summary["model_sha256"].get<std::string>());
    BOOST_TEST(summary["privacy"]["simulated"] == (key != "secret"));
    const auto table = folder / "clients.csv";
    const auto exported = run_furlong(folder, {"export", out, "--clients", table});
    BOOST_REQUIRE_MESSAGE(exported.code == 0, exported.err);
    std::istringstream lines(read_file(table));
    std::string line;
    std::getline(lines, line);
    BOOST_TEST(line.starts_with("client,name,role,selected,folded,last_selected,last_folded,training_loss,"));
    std::size_t folded = 0;
    while (std::getline(lines, line)) {
      std::vector<std::string> fields;
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) fields.push_back(cell);
      folded += fields[4] != "0" && !fields[4].empty() ? 1 : 0;
      BOOST_TEST(fields[7].empty());
    }
    BOOST_TEST(folded > 0U);
  }
  BOOST_TEST(models.size() == 3U);
  const auto text = run_furlong(folder, noisy_run(scenario, folder / "told"));
  BOOST_TEST(text.out.find("simulated privacy") != std::string::npos, text.out);
}

BOOST_AUTO_TEST_CASE(adaptive_clipping_and_trees_are_accounted_for) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 6);
  run_well(folder, noisy_run(scenario, folder / "adaptive", {"privacy.clip_quantile=0.5", "privacy.clip_noise=2"}));
  run_well(folder, noisy_run(scenario, folder / "fixed"));
  const auto adaptive = summary_of(folder / "adaptive")["privacy"];
  const auto fixed = summary_of(folder / "fixed")["privacy"];
  BOOST_TEST(adaptive["epsilon"] == fixed["epsilon"]);
  BOOST_TEST(adaptive["clip"]["quantile"] == 0.5);
  BOOST_TEST(adaptive["clip"]["bound"].get<double>() != 1.0);
  BOOST_TEST(!fixed.contains("clip"));
  run_well(folder,
           noisy_run(scenario, folder / "tree",
                     {"privacy.mechanism=\"tree\"", "participation.min_separation=4", "privacy.tree_rounds=4"}));
  const auto tree = summary_of(folder / "tree")["privacy"];
  BOOST_TEST(tree["tree"]["rounds"] == 4);
  BOOST_TEST(tree["tree"]["min_separation"] == 4);
  const auto most = tree["participations"].get<int>();
  BOOST_TEST(most <= 2);
  const auto plain = privacy_of(folder, {"--noise", "1.2", "--participations", std::to_string(3 * most), "--delta",
                                         std::to_string(tree["delta"].get<double>())});
  BOOST_TEST(std::abs(plain["epsilon"].get<double>() - tree["epsilon"].get<double>()) < 1e-3);
}

BOOST_AUTO_TEST_CASE(participations_of_the_log_count_where_nothing_is_amplified) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedrecon", 6);
  const auto out = folder / "run";
  run_well(folder, noisy_run(scenario, out, {"participation.over_selection=1.2", "scenario.clock=\"virtual\""}));
  const auto summary = summary_of(out);
  BOOST_TEST(summary["privacy"]["sampling"] == "none");
  BOOST_TEST(summary["privacy"]["participations"] == summary["participation"]["max"]);
  const auto plain =
      privacy_of(folder, {"--noise", "1.2", "--participations",
                          std::to_string(summary["participation"]["max"].get<int>()), "--delta", "1e-5"});
  BOOST_TEST(privacy_of(folder, {out.string(), "--delta", "1e-5"})["epsilon"] == plain["epsilon"]);
}

BOOST_AUTO_TEST_CASE(a_target_ends_a_run_in_every_engine_and_when_it_is_resumed) {
  const scratch_folder folder;
  const auto scenario = drawn_scenario(folder);
  run_well(folder, noisy_run(scenario, folder / "without", {"scenario.rounds=5"}));
  const double five = summary_of(folder / "without")["privacy"]["epsilon"].get<double>();
  int number = 0;
  for (const std::string clock : {"real", "virtual"})
    for (const std::string engine : {"actors", "reference"}) {
      const auto out = folder / ("limited-" + std::to_string(number++));
      auto command = noisy_run(scenario, out, {"scenario.clock=\"" + clock + "\""});
      const auto run_to = [&](double epsilon, const std::string& last) {
        auto words = command;
        words.insert(words.end(), {"--set", "privacy.target_epsilon=" + std::to_string(epsilon)});
        if (last.starts_with("--resume"))
          words.push_back(last);
        else
          words.insert(words.end(), {"--engine", last});
        run_well(folder, words);
        return summary_of(out);
      };
      const auto summary = run_to(five + 1e-3, engine);
      BOOST_TEST(summary["rounds"] == 5);
      BOOST_TEST(summary["privacy"]["spent"] == true);
      BOOST_TEST(std::abs(summary["privacy"]["epsilon"].get<double>() - five) < 1e-6);
      if (engine == "reference") continue;
      BOOST_TEST(run_to(five + 1e-3, "--resume")["rounds"] == 5);
      const auto more = run_to(1000, "--resume");
      BOOST_TEST(more["rounds"] == 12);
      BOOST_TEST(more["privacy"]["spent"] == false);
    }
}

BOOST_AUTO_TEST_CASE(a_target_that_cannot_be_kept_is_refused) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 6);
  const auto refused = [&](const std::vector<std::string>& settings, const std::string& why) {
    const auto done = run_furlong(folder, noisy_run(scenario, folder / "none", settings));
    BOOST_TEST(done.code == 2);
    BOOST_TEST(done.err.find(why) != std::string::npos, done.err);
    BOOST_TEST(!std::filesystem::exists(folder / "none"));
  };
  refused({"privacy.target_epsilon=0.01"}, "one round has epsilon");
  refused({"privacy.target_epsilon=9", "participation.policy=\"power-of-choice\""}, "losses");
  refused({"privacy.target_epsilon=9", "privacy.noise=0"}, "needs noise");
}

BOOST_AUTO_TEST_SUITE_END()
