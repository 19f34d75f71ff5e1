// furlong run: what it says of a run that ended and learned nothing, or little.
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <sys/stat.h>

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

namespace {

/// 30 clients, 6 a round.
std::filesystem::path thirty_clients(const scratch_folder& folder) {
  const auto file = folder / "s.toml";
  std::ofstream(file) << "[scenario]\nname = \"s\"\nseed = 2\nrounds = 5\ndiverged_at = 0\n"
                         "[data]\nsource = \"synthetic-ratings\"\nusers = 30\nitems = 20\nratings_per_user = 12\n"
                         "split = [0.8, 0.0, 0.2]\n"
                         "[model]\nkind = \"matrix-factorization\"\nrank = 2\nitem_bias = true\nprivate = [\"user\"]\n"
                         "[algorithm]\nkind = \"furl\"\nclient = {lr = 0.1}\n"
                         "aggregation = {rule = \"uniform-mean\"}\n[participation]\nper_round = 6\n";
  return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_that_learned_nothing_says_what_hindered_it) {
  const scratch_folder folder;
  const auto scenario = thirty_clients(folder).string();
  struct hindrance {
    std::vector<std::string> changes;
    std::string reason;
    bool blames_rate = false;
  };
  const hindrance cases[] = {
      {{"participation.min_reports=6", "dropout.upload=0.5"},
       "every round had fewer reports than participation.min_reports = 6; the model is unchanged; lower "},
      {{"privacy.secure_aggregation=true", "dropout.upload=0.9", "participation.per_round=20"},
       "in every round too few clients reported to open the sum of their masked updates"},
      {{"participation.deadline=0.001", "devices.speed.ms_per_example=1000"},
       "no update came within participation.deadline = 0.001 s; the model is unchanged; raise it"},
      {{"participation.deadline=3", "devices.speed.ms_per_example=1000", "scenario.rounds=40",
        "participation.min_reports=3"},
       "no update came within participation.deadline = 3 s; the model is unchanged; raise it"},
      {{"algorithm.client.lr=1e-30"},
       "30 updates were aggregated, and none changed a value of the model; the model is unchanged; raise algorithm.cl",
       true}};
  int number = 0;
  for (const auto& one : cases) {
    const auto out = (folder / ("run" + std::to_string(number++))).string();
    std::vector<std::string> words{"run", scenario, "--out", out};
    for (const auto& change : one.changes) words.insert(words.end(), {"--set", change});
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 4, done.err);
    BOOST_TEST(done.err.find(one.reason) != std::string::npos, done.err);
    BOOST_TEST(done.err.find("lower algorithm.client.lr") == std::string::npos, done.err);
    BOOST_TEST((done.err.find("client.lr") != std::string::npos) == one.blames_rate, done.err);
  }
}

BOOST_AUTO_TEST_CASE(a_run_whose_updates_are_all_refused_names_the_bound) {
  const scratch_folder folder;
  const auto done =
      run_furlong(folder, {"run", thirty_clients(folder).string(), "--out", (folder / "run").string(), "--set",
                           "algorithm.aggregation.max_norm=1e-6", "--set", "participation.min_reports=6"});
  BOOST_TEST(done.code == 4, done.err);
  BOOST_TEST(
      done.err.find("30 of 30 updates were rejected (30 norm-bound); the model is unchanged; ") != std::string::npos,
      done.err);
}

// The interpreter says that it started, and then nothing: the command waits for it.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_before_it_begins_leaves_no_folder) {
  const scratch_folder folder;
  const auto started = folder / "started";
  BOOST_REQUIRE(::mkfifo(started.c_str(), 0600) == 0);
  const auto interpreter = folder / "interpreter";
  std::ofstream(interpreter) << "#!/bin/sh\n: > '" << started.string() << "'\nexec sleep 30\n";
  std::filesystem::permissions(interpreter, std::filesystem::perms::owner_all);
  std::ofstream(folder / "taste.py");
  const auto scenario = folder / "s.toml";
  std::ofstream(scenario) << "[scenario]\nname = \"s\"\nrounds = 1\n[data]\nsource = \"python\"\n[model]\nkind = "
                             "\"python\"\n[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 1\n[python]\n"
                             "problem = \"taste.py:Taste\"\ninterpreter = \""
                          << interpreter.string() << "\"\n";
  furlong_process run(folder, {"run", scenario.string(), "--out", (folder / "run").string()});
  const int reader = ::open(started.c_str(), O_RDONLY);  // waits for the interpreter
  run.send(SIGTERM);
  BOOST_TEST(run.wait() == 5);
  ::close(reader);
  BOOST_TEST(run.err().find("stopped before the run began; nothing was written") != std::string::npos, run.err());
  BOOST_TEST(!std::filesystem::exists(folder / "run"));
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
