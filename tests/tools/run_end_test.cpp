// furlong run: what it says of a run that ended and learned nothing, or little.
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_run_end)

using namespace furlong::tests;

BOOST_AUTO_TEST_CASE(a_run_that_learned_nothing_says_so) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedrecon").string();
  int number = 0;
  for (const std::string change :
       {"algorithm.client.lr=1e30", "algorithm.aggregation.max_norm=0.000001", "algorithm.server.lr=1e30"}) {
    const auto out = folder / ("run" + std::to_string(number++));
    const auto done = run_furlong(folder, {"run", scenario, "--out", out.string(), "--set", change});
    BOOST_TEST_CONTEXT(change) {
      BOOST_TEST(done.code == 4);
      BOOST_TEST(done.err.find("lower algorithm.client.lr") != std::string::npos);
      const auto failed = summary_of(out).value("failed", "");
      BOOST_TEST(!failed.empty());
      BOOST_TEST(done.err.find(out.string() + ": " + failed) != std::string::npos, done.err);
      const std::string word = failed.starts_with("training diverged") ? "diverged" : "failed";
      BOOST_TEST(read_file(out / "report.html").find("\"badge\":\"" + word) != std::string::npos);
    }
  }
}

// Of 41 clients one has an example left to train on, and it is not asked.
BOOST_AUTO_TEST_CASE(a_run_of_clients_without_examples_blames_no_rate) {
  const scratch_folder folder;
  std::ofstream texts(folder / "t.tsv");
  texts << "user\ttext\tlabel\n";
  for (int i = 0; i < 10; ++i) texts << "rich\tabc\t" << i % 2 << "\n";
  for (int user = 0; user < 40; ++user) texts << "poor" << user << "\tabc\t" << user % 2 << "\n";
  texts.close();
  const auto scenario = folder / "t.toml";
  std::ofstream(scenario)
      << "[scenario]\nname = \"t\"\nrounds = 1\n[data]\nsource = \"labelled-text\"\npath = \"t.tsv\"\n"
         "split = [0.4, 0.0, 0.6]\n[model]\nkind = \"doc-classifier\"\n[algorithm]\nkind = \"fedavg\"\n"
         "[participation]\nper_round = 1\n";
  ::setenv("FURLONG_DATA", folder.path().c_str(), 1);
  const auto done = run_furlong(folder, {"run", scenario.string(), "--out", (folder / "run").string()});
  ::unsetenv("FURLONG_DATA");
  BOOST_TEST(done.code == 4);
  BOOST_TEST(done.err.find("no selected client had an example to train on; the model is unchanged; give "
                           "clients more examples (data.split, data.max_examples), or select more clients") !=
                 std::string::npos,
             done.err);
  BOOST_TEST(done.err.find("client.lr") == std::string::npos, done.err);
}

BOOST_AUTO_TEST_CASE(a_run_without_any_report_blames_no_rate) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedrecon", 2).string();
  const auto done = run_furlong(folder, {"run", scenario, "--out", (folder / "run").string(), "--set",
                                         "dropout.train=1", "--set", "scenario.until={virtual_seconds=1000}"});
  BOOST_TEST(done.code == 4, done.err);
  BOOST_TEST(done.err.find("no client finished a task; the model is unchanged; ") != std::string::npos, done.err);
  BOOST_TEST(done.err.find("client.lr") == std::string::npos, done.err);
}

BOOST_AUTO_TEST_CASE(a_run_of_mostly_refused_updates_says_so) {
  const scratch_folder folder;
  const auto out = folder / "run";
  const auto done =
      run_furlong(folder, {"run", small_scenario(folder, "fedrecon").string(), "--out", out.string(), "--set",
                           "algorithm.aggregation.max_norm=0.05", "--set", "participation.per_round=2"});
  BOOST_TEST(done.code == 0, done.err);
  const auto summary = summary_of(out);
  const auto refused = summary["rejected"]["norm-bound"].get<std::uint64_t>();
  const auto arrived = refused + summary["folded"].get<std::uint64_t>();
  BOOST_REQUIRE(refused * 2 > arrived);
  const auto warning = std::to_string(refused) + " of " + std::to_string(arrived) + " updates were rejected (" +
                       std::to_string(refused) + " norm-bound); lower algorithm.client.lr, or raise algorithm.aggre";
  BOOST_TEST(done.err.find(warning) != std::string::npos, done.err);
  std::size_t without = 0;
  std::istringstream lines(read_file(out / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto round = nlohmann::json::parse(line);
    BOOST_TEST(round.contains("loss") == (round["folded"] > 0), line);
    without += round.contains("loss") ? 0 : 1;
  }
  BOOST_TEST(without > 0U);
  const auto good =
      run_furlong(folder, {"run", small_scenario(folder, "fedrecon").string(), "--out", (folder / "good").string()});
  BOOST_TEST(good.err.find("refused") == std::string::npos, good.err);
}

BOOST_AUTO_TEST_SUITE_END()
