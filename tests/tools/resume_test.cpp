// A run that is killed, or stopped, and resumed ends with the bits of a run that was not.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_resume)

using namespace furlong::tests;

namespace {

constexpr int kills = 20;

struct resumed_run {
  std::filesystem::path scenario;
  std::filesystem::path folder;

  [[nodiscard]] std::vector<std::string> arguments(const std::string& threads) const {
    return {"run", scenario.string(), "--out", folder.string(), "--threads", threads, "--resume"};
  }
};

void expect_same_figures(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto left = summary_of(a);
  const auto right = summary_of(b);
  for (const char* key : {"model_sha256", "private_sha256", "eval", "selected", "folded", "rejected", "bytes_up",
                          "bytes_down", "private_staleness"})
    BOOST_TEST(left[key] == right[key], key);
}

void expect_same_results(const std::filesystem::path& a, const std::filesystem::path& b) {
  expect_same_figures(a, b);
  BOOST_TEST(read_file(a / "metrics.jsonl") == read_file(b / "metrics.jsonl"));
  BOOST_TEST(read_file(a / "events.jsonl") == read_file(b / "events.jsonl"));
  BOOST_TEST(read_file(a / "cohorts.jsonl") == read_file(b / "cohorts.jsonl"));
}

/// Waits, a minute at most, until a file has more than so many bytes.
bool gets_beyond(std::uintmax_t bytes, const std::filesystem::path& file) {
  const auto has_more = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(file, none);
    return !none && size > bytes;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!has_more() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return has_more();
}

}  // namespace

BOOST_AUTO_TEST_CASE(twenty_kills_at_random_moments_change_nothing) {
  const scratch_folder folder;
  // Long enough that most kills find it at work, with a checkpoint every third round.
  const auto scenario = small_scenario(folder, "furl", 1200);
  const auto whole = folder / "whole";
  const auto begun = std::chrono::steady_clock::now();
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario.string(), "--out", whole.string()}).code == 0);
  const auto length = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);

  const resumed_run killed{scenario, folder / "killed"};
  std::mt19937 random(20);
  int interrupted = 0;
  for (int i = 0; i < kills; ++i) {
    furlong_process process(folder, killed.arguments(i % 2 == 0 ? "1" : "3"));
    std::this_thread::sleep_for(length * std::uniform_int_distribution(2, 20)(random) / 100);
    process.send(SIGKILL);
    interrupted += process.wait() == 128 + SIGKILL ? 1 : 0;
    std::filesystem::remove(killed.folder / "summary.json");
  }
  BOOST_TEST(interrupted >= kills / 4);
  const auto last = run_furlong(folder, killed.arguments("2"));
  BOOST_REQUIRE_MESSAGE(last.code == 0, last.err);
  expect_same_results(whole, killed.folder);
}

BOOST_AUTO_TEST_CASE(an_interrupt_stops_cleanly_and_can_be_resumed) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedrecon", 1500);
  const auto whole = folder / "whole";
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario.string(), "--out", whole.string()}).code == 0);

  const resumed_run stopped{scenario, folder / "stopped"};
  furlong_process process(folder, stopped.arguments("2"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!std::filesystem::exists(stopped.folder / "checkpoint") && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  process.send(SIGINT);
  const int code = process.wait();
  BOOST_TEST(code == 5);
  BOOST_TEST(process.err().find("--resume") != std::string::npos);
  BOOST_TEST(process.err().find("another Ctrl-C stops at once") != std::string::npos);
  BOOST_TEST(!std::filesystem::exists(stopped.folder / "summary.json"));
  const auto rest = run_furlong(folder, stopped.arguments("2"));
  BOOST_REQUIRE_MESSAGE(rest.code == 0, rest.err);
  expect_same_results(whole, stopped.folder);
}

BOOST_AUTO_TEST_CASE(a_run_that_stops_after_a_round_ends_as_one_that_does_not) {
  const scratch_folder folder;
  const auto scenario = folder / "overshooting.toml";
  std::ofstream(scenario) << "[scenario]\nname = \"r\"\nseed = 5\nrounds = 24\n[data]\nsource = \"synthetic-ratings\"\n"
                             "users = 60\nitems = 40\nratings_per_user = 15\nmin_ratings = 3\nsplit = [0.7, 0.1, 0.2]\n"
                             "unseen_users = {validation = 0.1, test = 0.1}\n[model]\nkind = \"matrix-factorization\"\n"
                             "rank = 3\nuser_bias = true\nitem_bias = true\nprivate = [\"user\", \"user_bias\"]\n"
                             "[algorithm]\nkind = \"fedavg\"\nclient = {lr = 0.5, batch_size = 4}\n"
                             "[participation]\nper_round = 7\n[evaluation]\nevery = 8\nmetric = \"rmse\"\n"
                             "select = \"best\"\n";
  const auto run = [&](const std::string& name, const std::vector<std::string>& more, int code) {
    std::vector<std::string> words = {"run", scenario.string(), "--out", (folder / name).string()};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == code, done.err);
  };
  run("whole", {}, 0);
  for (const std::string round : {"8", "21"}) {
    run("stopped-" + round, {"--stop-after", round}, 5);
    run("stopped-" + round, {"--resume"}, 0);
    expect_same_figures(folder / "whole", folder / ("stopped-" + round));
    BOOST_TEST(summary_of(folder / "whole")["best"] == summary_of(folder / ("stopped-" + round))["best"]);
  }
  // The evaluation is there to be read, as the figure after a rung of `furlong tune`.
  std::istringstream lines(read_file(folder / "stopped-21" / "metrics.jsonl"));
  std::vector<nlohmann::json> rounds;
  for (std::string line; std::getline(lines, line);) rounds.push_back(nlohmann::json::parse(line));
  BOOST_REQUIRE(rounds.size() == 24U);
  BOOST_TEST(rounds[20].contains("eval"));
}

BOOST_AUTO_TEST_CASE(a_finished_run_that_goes_on_is_unfinished_until_it_ends_again) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl");  // 20 rounds
  const auto whole = folder / "whole";
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario.string(), "--out", whole.string()}).code == 0);
  const resumed_run of{scenario, folder / "run"};
  BOOST_REQUIRE(run_furlong(folder, of.arguments("1")).code == 0);

  auto longer = of.arguments("1");
  longer.insert(longer.end(), {"--set", "scenario.rounds=100000"});
  furlong_process process(folder, longer);
  BOOST_TEST(gets_beyond(read_file(of.folder / "metrics.jsonl").size(), of.folder / "metrics.jsonl"));
  process.send(SIGINT);
  BOOST_TEST(process.wait() == 5);
  for (const char* name : {"summary.json", "report.html"}) BOOST_TEST(!std::filesystem::exists(of.folder / name), name);
  const auto served = run_furlong(folder, {"infer", of.folder.string(), "--client", "1"});
  BOOST_TEST(served.code == 2);
  BOOST_TEST(served.err.find("the run has not ended") != std::string::npos, served.err);
  std::ofstream(of.folder / "metrics.jsonl", std::ios::app) << "{\"round\":";  // as a kill may leave it
  const auto page = folder / "page.html";
  const auto told = run_furlong(folder, {"report", of.folder.string(), "--out", page.string()});
  BOOST_TEST(told.code == 0, told.err);
  BOOST_TEST(read_file(page).find(R"("badge":"interrupted")") != std::string::npos);

  // One that has nothing left to do keeps its summary, and gets one that is gone.
  const resumed_run ended{scenario, whole};
  const auto before = summary_of(whole);
  for (const bool gone : {false, true}) {
    if (gone)
      for (const char* name : {"summary.json", "report.html"}) std::filesystem::remove(whole / name);
    const auto again = run_furlong(folder, ended.arguments("1"));
    BOOST_TEST(again.code == 0, again.err);
    BOOST_TEST(summary_of(whole)["eval"] == before["eval"]);
    BOOST_TEST(std::filesystem::exists(whole / "report.html"));
  }
}

BOOST_AUTO_TEST_CASE(the_reference_engine_stops_cleanly_and_the_other_one_goes_on) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 1000);
  const auto begin = [&](const std::filesystem::path& out, const std::string& option, const std::string& value) {
    return std::vector<std::string>{"run",   scenario.string(),     "--out", out.string(),
                                    "--set", "scenario.clock=real", option,  value};
  };
  BOOST_REQUIRE(run_furlong(folder, begin(folder / "whole", "--threads", "2")).code == 0);
  const auto stopped = folder / "stopped";
  furlong_process process(folder, begin(stopped, "--engine", "reference"));
  BOOST_TEST(gets_beyond(0, stopped / "metrics.jsonl"));
  process.send(SIGINT);
  BOOST_TEST(process.wait() == 5);
  BOOST_TEST(process.err().find("continue with --resume") != std::string::npos, process.err());
  BOOST_TEST(!std::filesystem::exists(stopped / "summary.json"));
  auto rest = begin(stopped, "--threads", "2");
  rest.emplace_back("--resume");
  const auto done = run_furlong(folder, rest);
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  expect_same_figures(folder / "whole", stopped);
}

BOOST_AUTO_TEST_CASE(another_scenario_cannot_resume_a_run) {
  const scratch_folder folder;
  const auto run = folder / "run";
  BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--out", run.string()}).code == 0);
  const auto other =
      run_furlong(folder, {"run", small_scenario(folder, "fedrecon").string(), "--out", run.string(), "--resume"});
  BOOST_TEST(other.code == 2);
  BOOST_TEST(other.err.find("another scenario or seed: algorithm.kind was \"furl\" and is \"fedrecon\"; resume") !=
                 std::string::npos,
             other.err);
  // A model of another shape only follows from what was changed.
  const auto seeded = run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--out", run.string(),
                                           "--resume", "--seed", "9", "--set", "model.rank=5"});
  BOOST_TEST(seeded.code == 2);
  BOOST_TEST(seeded.err.find("scenario.seed was 1 and is 9, model.rank was 4 and is 5; resume") != std::string::npos,
             seeded.err);
}

BOOST_AUTO_TEST_CASE(a_run_is_not_resumed_to_fewer_rounds_than_it_has_done) {
  const scratch_folder folder;
  const resumed_run of{small_scenario(folder, "fedrecon"), folder / "run"};
  BOOST_REQUIRE(run_furlong(folder, of.arguments("1")).code == 0);  // 20 rounds
  const auto kept = read_file(of.folder / "scenario.toml");
  auto fewer = of.arguments("1");
  fewer.insert(fewer.end(), {"--set", "scenario.rounds=3"});
  const auto done = run_furlong(folder, fewer);
  BOOST_TEST(done.code == 2);
  BOOST_TEST(done.err.find("has done 20 rounds, but ends after 3; set at least 20 rounds") != std::string::npos,
             done.err);
  BOOST_TEST(read_file(of.folder / "scenario.toml") == kept);
  fewer.back() = "scenario.rounds=21";
  BOOST_TEST(run_furlong(folder, fewer).code == 0);
}

BOOST_AUTO_TEST_CASE(a_run_is_not_resumed_on_other_data) {
  const scratch_folder folder;
  const auto words = folder / "words.txt";
  const auto write = [&](const char* last) {
    std::ofstream(words) << "the cat sat\nthe dog ran\nthe cat ran\n" << last << '\n';
  };
  write("the dog sat");
  std::ofstream(folder / "scenario.toml") << R"([scenario]
name = "words"
rounds = 2
[data]
source = "text"
path = ")" << words.string() << R"("
clients = 2
[model]
kind = "gru-lm"
embedding = 4
hidden = 4
[algorithm]
kind = "fedavg"
[participation]
per_round = 2
)";
  const resumed_run of{folder / "scenario.toml", folder / "run"};
  auto arguments = of.arguments("1");
  const auto first = run_furlong(folder, arguments);
  BOOST_REQUIRE_MESSAGE(first.code == 0, first.err);
  arguments.insert(arguments.end(), {"--set", "scenario.rounds=3"});
  for (const char* last : {"the cat sat", "a bird flew far away"}) {
    write(last);
    const auto other = run_furlong(folder, arguments);
    BOOST_TEST(other.code == 3);
    BOOST_TEST(other.err.find("the data differ from those that the run started with: the content of " + words.string() +
                              " has changed; restore the files") != std::string::npos,
               other.err);
  }
  write("the dog sat");
  const auto same = run_furlong(folder, arguments);
  BOOST_TEST(same.code == 0, same.err);
}

BOOST_AUTO_TEST_CASE(a_finished_run_that_cannot_go_on_keeps_its_summary) {
  const scratch_folder folder;
  const resumed_run of{small_scenario(folder, "furl"), folder / "run"};  // 20 rounds
  const auto checkpoint = of.folder / "checkpoint/checkpoint.furlong";
  auto every = of.arguments("1");
  every.insert(every.end(), {"--set", "checkpoint.every=3", "--set", "scenario.rounds=10"});
  BOOST_REQUIRE(run_furlong(folder, every).code == 0);
  std::filesystem::copy_file(checkpoint, folder / "kept");
  every.back() = "scenario.rounds=20";
  BOOST_REQUIRE(run_furlong(folder, every).code == 0);
  std::filesystem::copy_file(folder / "kept", checkpoint, std::filesystem::copy_options::overwrite_existing);
  const auto done = run_furlong(folder, every);
  BOOST_TEST(done.code == 3);
  BOOST_TEST(done.err.find("the private store is newer than the checkpoint") != std::string::npos, done.err);
  for (const char* name : {"summary.json", "report.html"}) BOOST_TEST(std::filesystem::exists(of.folder / name), name);
  BOOST_TEST(read_file(checkpoint) == read_file(folder / "kept"));
}

BOOST_AUTO_TEST_CASE(a_store_that_is_not_the_checkpoints_own_is_refused) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl");  // 20 rounds
  const resumed_run of{scenario, folder / "run"};
  const auto run_to = [&](const resumed_run& which, const char* rounds) {
    auto words = which.arguments("1");
    words.insert(words.end(), {"--set", std::string("scenario.rounds=") + rounds});
    return run_furlong(folder, words);
  };
  const auto put = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  };
  BOOST_REQUIRE(run_to(of, "10").code == 0);
  put(of.folder / "private", folder / "older");
  BOOST_REQUIRE(run_to(of, "20").code == 0);
  const resumed_run other{scenario, folder / "other"};  // the same scenario and seed, as far, with the same values
  BOOST_REQUIRE(run_to(other, "20").code == 0);
  for (const auto& [from, why] :
       {std::pair(folder / "older", "last saved at version 10: the store is older"),
        std::pair(folder / "other/private", "the checkpoint was written with another private store")}) {
    put(from, of.folder / "private");
    const auto summary = read_file(of.folder / "summary.json");
    for (const auto& done : {run_to(of, "30"), run_furlong(folder, {"infer", of.folder.string(), "--client", "1"})}) {
      BOOST_TEST(done.code == 3);
      BOOST_TEST(done.err.find(why) != std::string::npos, done.err);
    }
    BOOST_TEST(read_file(of.folder / "summary.json") == summary);
  }
}

namespace {

/// A FURL run that was stopped, and had gone on after its first checkpoint.
struct stopped_run {
  stopped_run() : of{small_scenario(folder, "furl", 4000), folder / "run"} {
    furlong_process process(folder, of.arguments("2"));
    for (int i = 0; i < 60000 && rounds_on_record() <= 3; ++i) ::usleep(1000);
    process.send(SIGINT);
    BOOST_REQUIRE(process.wait() == 5);
  }
  [[nodiscard]] std::ptrdiff_t rounds_on_record() const {
    const auto lines = read_file(of.folder / "metrics.jsonl");
    return std::count(lines.begin(), lines.end(), '\n');
  }
  /// Resumes it, which must fail as data does, leave everything as it is, and say so.
  void check_refused(const std::string& why) const {
    const auto metrics = read_file(of.folder / "metrics.jsonl");
    const auto done = run_furlong(folder, of.arguments("2"));
    BOOST_TEST(done.code == 3);
    BOOST_TEST(done.err.find(why) != std::string::npos, done.err);
    BOOST_TEST(read_file(of.folder / "metrics.jsonl") == metrics);
  }
  scratch_folder folder;
  resumed_run of;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_run_that_has_lost_its_checkpoint_does_not_start_anew, stopped_run) {
  std::filesystem::rename(of.folder / "checkpoint/checkpoint.furlong", folder / "kept");
  check_refused("checkpoint: the run had a checkpoint, but it is missing; restore it, or remove");
  std::filesystem::remove_all(of.folder / "checkpoint");  // the private store knows of it too
  check_refused("checkpoint: the run had a checkpoint, but it is missing; restore it, or remove");
  BOOST_TEST(std::filesystem::exists(of.folder / "private/store.furlong"));
}

BOOST_FIXTURE_TEST_CASE(a_run_that_has_lost_its_private_values_does_not_go_on, stopped_run) {
  const auto checkpoint = read_file(of.folder / "checkpoint/checkpoint.furlong");
  std::filesystem::rename(of.folder / "private", folder / "kept");
  check_refused("the private store of the run is missing");
  BOOST_TEST(!std::filesystem::exists(of.folder / "private"));
  BOOST_TEST(read_file(of.folder / "checkpoint/checkpoint.furlong") == checkpoint);
}

BOOST_AUTO_TEST_CASE(a_run_that_was_killed_before_its_first_checkpoint_starts_from_nothing) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl");
  const auto whole = folder / "whole";
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario.string(), "--out", whole.string()}).code == 0);
  const resumed_run killed{small_scenario(folder, "furl", 100000), folder / "killed"};
  auto rarely = killed.arguments("2");
  rarely.insert(rarely.end(), {"--set", "checkpoint.every=0"});
  furlong_process process(folder, rarely);
  for (int i = 0; i < 60000 && !std::filesystem::exists(killed.folder / "private/shard-0000.g0/SEALED"); ++i)
    ::usleep(1000);
  process.send(SIGKILL);
  BOOST_REQUIRE(process.wait() == 128 + SIGKILL);
  BOOST_REQUIRE(!std::filesystem::exists(killed.folder / "checkpoint"));
  const auto last = run_furlong(folder, resumed_run{small_scenario(folder, "furl"), killed.folder}.arguments("2"));
  BOOST_REQUIRE_MESSAGE(last.code == 0, last.err);
  BOOST_TEST(last.err.find("has no checkpoint yet: the run starts from the beginning") != std::string::npos, last.err);
  expect_same_results(whole, killed.folder);
}

BOOST_AUTO_TEST_CASE(a_damaged_checkpoint_is_named) {
  const scratch_folder folder;
  const auto run = folder / "run";
  const auto scenario = small_scenario(folder, "fedrecon").string();
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario, "--out", run.string()}).code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoint"))
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
  const auto done = run_furlong(folder, {"run", scenario, "--out", run.string(), "--resume"});
  BOOST_TEST(done.code == 3);
  BOOST_TEST(done.err.find("checkpoint") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
