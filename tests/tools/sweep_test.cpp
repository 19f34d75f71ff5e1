// furlong sweep: what it leaves, how it goes on, how failures are told.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sys/file.h>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_sweep)

using namespace furlong::tests;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> sweep(const std::filesystem::path& scenario, const std::filesystem::path& out,
                               const std::vector<std::string>& more) {
  std::vector<std::string> words = {"sweep", scenario.string(), "--out", out.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

nlohmann::json rows_of(const std::filesystem::path& out) {
  return nlohmann::json::parse(read_file(out / "sweep.json"))["runs"];
}

std::size_t count_status(const std::filesystem::path& out, const std::string& status) {
  const auto rows = rows_of(out);
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const auto& row) { return row["status"] == status; }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_combination_is_run_compared_and_kept) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 5);
  const auto out = folder / "sweep";
  const std::vector<std::string> grid = {"--grid", "algorithm.kind=furl,fedavg", "--seeds", "1,2",
                                         "--set",  "participation.per_round=10"};
  const auto first = run_furlong(folder, sweep(scenario, out, grid));
  BOOST_REQUIRE_MESSAGE(first.code == 0, first.out << first.err);
  BOOST_TEST(has(first.out, "+-"), first.out);
  const auto page = folder / "page.html";
  const auto reported = run_furlong(folder, {"report", out.string(), "--out", page.string()});
  BOOST_TEST(first.out.starts_with(reported.out.substr(0, reported.out.find("report: "))), first.out << reported.out);
  BOOST_TEST(read_file(out / "report.html") == read_file(page));
  for (const char* name : {"sweep.json", "sweep.csv", "report.html"})
    BOOST_TEST(std::filesystem::exists(out / name), name);
  BOOST_TEST(count_status(out, "done") == 4U);
  for (const auto& row : rows_of(out)) {
    const auto summary = summary_of(out / row["run"].get<std::string>());
    BOOST_TEST(summary["seed"] == row["seed"]);
    BOOST_TEST(summary["algorithm"] == row["grid"]["algorithm.kind"]);
    BOOST_TEST(summary["selected"] == 50);
    BOOST_TEST(row["figures"]["model_sha256"] == summary["model_sha256"]);
    BOOST_TEST(row["figures"]["eval.unseen.rmse"] == summary["eval"]["unseen"]["rmse"]);
  }

  // A larger grid only adds.
  const auto kept = out / "small-kind=furl-seed=1";
  const auto written = std::filesystem::last_write_time(kept / "summary.json");
  auto larger = grid;
  larger[1] += ",fedrecon";
  const auto second = run_furlong(folder, sweep(scenario, out, larger));
  BOOST_REQUIRE_MESSAGE(second.code == 0, second.err);
  BOOST_TEST(has(second.err, "6 runs, 4 finished before"), second.err);
  const auto csv = read_file(out / "sweep.csv");
  BOOST_TEST(std::count(csv.begin(), csv.end(), '\n') == 7);
  BOOST_TEST(std::count(csv.begin(), csv.end(), '\r') == 0);
  BOOST_TEST(csv.ends_with('\n'));
  BOOST_TEST(!csv.ends_with("\n\n"));
  BOOST_TEST((std::filesystem::last_write_time(kept / "summary.json") == written));
  BOOST_TEST(count_status(out, "done") == 6U);

  // Other settings in the same folder would mix two sweeps.
  auto other = grid;
  other.back() = "participation.per_round=12";
  const auto mixed = run_furlong(folder, sweep(scenario, out, other));
  BOOST_TEST(mixed.code == 2);
  BOOST_TEST(has(mixed.err, "something else"), mixed.err);
}

// Options that take several values take them as one word, or word by word with the option before each: never the
// scenario that follows.
BOOST_AUTO_TEST_CASE(options_may_stand_before_the_scenario) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg", 3).string();
  const auto seeds_of = [&](const std::string& name, std::vector<std::string> words) {
    const auto out = folder / name;
    words.insert(words.end(), {"--out", out.string()});
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    std::vector<int> seeds;
    for (const auto& row : rows_of(out)) seeds.push_back(row["seed"]);
    return seeds;
  };
  const std::vector<int> both = {1, 2};
  BOOST_TEST(seeds_of("before", {"sweep", "--seeds", "1,2", scenario}) == both);
  BOOST_TEST(seeds_of("twice", {"sweep", "--seeds", "1", "--seeds", "2", scenario}) == both);
  BOOST_TEST(seeds_of("grid", {"sweep", "--grid", "scenario.rounds=2", "--set", "model.rank=2", scenario, "--seeds",
                               "1,2"}) == both);
}

// Scenarios share the grid and the seeds, so that their runs are paired.
BOOST_AUTO_TEST_CASE(several_scenarios_are_one_sweep) {
  const scratch_folder folder;
  const auto one = small_scenario(folder, "furl", 2);
  const auto two = folder / "two.toml";
  auto text = read_file(small_scenario(folder, "fedavg", 2));
  text.replace(text.find("\"small\""), 7, "\"other\"");
  std::ofstream(two) << text << "[dropout]\n"
                     << "mean_pause = 3.0\n";  // of no effect, which is a note
  const auto out = folder / "sweep";
  const auto done =
      run_furlong(folder, sweep(one, out,
                                {two.string(), "--grid", "algorithm.client.lr=0.02,0.05", "--with", "model.rank=2,3",
                                 "--grid", "participation.per_round=5", "--seeds", "1,2", "--jobs", "1"}));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.out << done.err);
  const auto json = nlohmann::json::parse(read_file(out / "sweep.json"));
  BOOST_TEST(json["scenario"] == "small");
  BOOST_TEST(json["scenarios"] == (nlohmann::json{"small", "other"}));
  BOOST_TEST(json["tied"] == nlohmann::json::parse(R"([["algorithm.client.lr", "model.rank"]])"));
  BOOST_TEST(count_status(out, "done") == 8U);
  for (const auto& row : json["runs"]) {
    BOOST_TEST(row["scenario"] == summary_of(out / row["run"].get<std::string>())["scenario"]);
    BOOST_TEST((row["grid"]["algorithm.client.lr"] == 0.02) == (row["grid"]["model.rank"] == 2));
  }
  BOOST_TEST(read_file(out / "sweep.csv").starts_with("run,status,seed,scenario,algorithm.client.lr,model.rank,"));
  BOOST_TEST(has(done.out, "\nother, lr=0.05  fedavg     2     "), done.out);
  BOOST_TEST(has(read_file(out / "report.html"), "other, lr=0.05"));
  // The note is about the runs of one scenario, and comes once, although each of them repeats it.
  const std::string note = "dropout.mean_pause has no effect";
  BOOST_TEST(has(done.err, "note: other-lr=0.02-rank=2-per_round=5-seed=1 and 3 more: " + note), done.err);
  BOOST_TEST(done.err.find(note) == done.err.rfind(note), done.err);
}

BOOST_AUTO_TEST_CASE(what_is_scored_for_choosing_settings_is_in_the_table) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg", 2);
  const auto done = run_furlong(
      folder,
      sweep(scenario, folder / "sweep", {"--grid", "algorithm.client.lr=0.1,0.2", "--set", "data.split=[0.8,0.2,0]"}));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  BOOST_TEST(has(done.out, "validation"), done.out);
}

// Under the real clock a target is reached at no virtual time: that is no figure, and no miss.
BOOST_AUTO_TEST_CASE(a_target_is_missed_only_where_it_was_not_reached) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg", 5);
  const auto table = [&](const char* name, const std::string& most) {
    const auto target = "evaluation.target={metric = \"seen.rmse\", at_most = " + most + "}";
    const auto done = run_furlong(
        folder, sweep(scenario, folder / name,
                      {"--grid", "algorithm.client.lr=0.1,0.2", "--set", target, "--set", "scenario.clock=real"}));
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return done.out;
  };
  BOOST_TEST(!has(table("reached", "100"), "not reached"));
  BOOST_TEST(has(table("missed", "0.001"), "not reached"));
}

BOOST_AUTO_TEST_CASE(a_wrong_grid_runs_nothing) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 5);
  const auto out = folder / "sweep";
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--grid", "algorithm.kind=furl,fedfast", "--grid", "participation.per_round=10,none"}, "fedfast"},
           {{"--grid", "algorithm.client.lr=0.1,-1"}, "algorithm.client.lr"},
           {{"--grid", "algorithm.clint.lr=0.1"}, "clint"},
           {{"--grid", "model.rank=[4"}, "is not balanced"},
           {{"--grid", "model.rank=4", "--set", "model.rank=3"}, "in the grid too"},
           {{"--grid", "scenario.seed=1,2"}, "--seeds"},
           {{"--with", "model.rank=3,4"}, "no --grid is before it"},
           {{"--grid", "model.rank=3,4", "--with", "algorithm.client.lr=0.1"}, "has 1 values"},
           {{(folder / "other.toml").string()}, "other.toml"},
           {{scenario.string()}, "give each scenario of a sweep a name of its own"},
           {{"--seeds", "3,3"}, "once"}}) {
    const auto done = run_furlong(folder, sweep(scenario, out, words));
    BOOST_TEST(done.code == 2, said);
    BOOST_TEST(has(done.err, said), done.err);
    BOOST_TEST(!std::filesystem::exists(out));
  }
  // All problems at once, each once.
  const auto done = run_furlong(
      folder,
      sweep(scenario, out, {"--grid", "algorithm.kind=furl,fedfast", "--grid", "participation.per_round=1,none"}));
  BOOST_TEST(std::count(done.err.begin(), done.err.end(), '\n') == 2, done.err);

  std::filesystem::create_directories(out);
  std::ofstream(out / "precious") << "x";
  BOOST_TEST(run_furlong(folder, sweep(scenario, out, {})).code == 2);
  BOOST_TEST(!std::filesystem::exists(out / "sweep.json"));
}

// What only the data can tell is found before the first run begins.
BOOST_AUTO_TEST_CASE(a_run_that_does_not_fit_its_data_lets_none_begin) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedrecon", 2);
  const auto out = folder / "sweep";
  const std::string why =
      "--grid algorithm.client.batch_size: is 64, and no client has more than 48 examples: all are in one batch, "
      "which leaves no query batch to learn from; set it below 48, or algorithm.reconstruction.split = false\n";
  const std::vector<std::string> grid = {"--grid", "algorithm.client.batch_size=4,64", "--seeds", "1,2"};
  const auto done = run_furlong(folder, sweep(scenario, out, grid));
  BOOST_TEST(done.code == 2);
  BOOST_TEST(done.err == "small-batch_size=64-seed=1 and 1 more: " + why);
  BOOST_TEST(!std::filesystem::exists(out));
  const auto validated =
      run_furlong(folder, {"validate", scenario.string(), "--set", "algorithm.client.batch_size=64"});
  BOOST_TEST(validated.code == 2);
  BOOST_TEST(has(validated.err, "--set algorithm.client.batch_size: is 64, and no client has more than 48"),
             validated.err);

  // Of each data another value is too large; and all runs may be refused.
  auto larger = grid;
  larger.insert(larger.end(), {"--grid", "data.items=60,40"});
  larger[1] = "algorithm.client.batch_size=40,64";
  const auto both = run_furlong(folder, sweep(scenario, out, larger));
  BOOST_TEST(both.code == 2);
  BOOST_TEST(std::count(both.err.begin(), both.err.end(), '\n') == 3, both.err);
  BOOST_TEST(has(both.err,
                 "small-batch_size=64-items=40-seed=1 and 1 more: --grid algorithm.client.batch_size: is 64, and no "
                 "client has more than 32"),
             both.err);
  const auto none = run_furlong(folder, sweep(scenario, out, {"--grid", "algorithm.client.batch_size=64"}));
  BOOST_TEST(none.err == why);

  auto tune = sweep(scenario, out, grid);
  tune.front() = "tune";
  const auto tuned = run_furlong(folder, tune);
  BOOST_TEST(tuned.code == 2);
  BOOST_TEST(has(tuned.err, "small-batch_size=64-seed=1 and 1 more: " + why), tuned.err);
  BOOST_TEST(!std::filesystem::exists(out));

  // A run whose data are not there fails alone.
  const auto words = folder / "words.toml";
  std::ofstream(words) << "[scenario]\nname = \"words\"\nrounds = 2\n[data]\nsource = \"text\"\npath = \"none.txt\"\n"
                          "clients = 2\n[model]\nkind = \"gru-lm\"\nembedding = 4\nhidden = 4\n"
                          "[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 2\n";
  const auto others = run_furlong(folder, sweep(scenario, out, {words.string()}));
  BOOST_TEST(others.code == 3);
  BOOST_TEST(has(others.err, "1 of 2 runs failed"), others.err);
  BOOST_TEST(count_status(out, "done") == 1U);
}

BOOST_AUTO_TEST_CASE(a_failed_run_does_not_stop_the_others) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedrecon", 5);
  const auto out = folder / "sweep";
  const std::vector<std::string> grid = {"--grid", "algorithm.client.lr=1e30,0.05", "--jobs", "1"};
  const auto done = run_furlong(folder, sweep(scenario, out, grid));
  BOOST_TEST(done.code == 4);
  BOOST_TEST(has(done.err, "lower algorithm.client.lr"), done.err);
  BOOST_TEST(has(done.err, "1 of 2 runs failed"), done.err);
  BOOST_TEST(count_status(out, "done") == 1U);
  BOOST_TEST(count_status(out, "diverged") == 1U);
  BOOST_TEST(has(done.out, "0 of 1, 1 diverged"), done.out);
  BOOST_TEST(has(read_file(out / "report.html"), "lr=1e+30 (diverged)"));
  // It is remembered, not run again; also when it was not asked for in between.
  const auto between = run_furlong(folder, sweep(scenario, out, {"--grid", "algorithm.client.lr=0.05"}));
  BOOST_TEST(between.code == 0, between.err);
  const auto again = run_furlong(folder, sweep(scenario, out, grid));
  BOOST_TEST(again.code == 4);
  BOOST_TEST(has(again.err, "2 runs, 2 finished before"), again.err);
  BOOST_TEST(has(again.err, "training diverged"), again.err);
  BOOST_TEST(!has(again.err, "computed by"), again.err);
  BOOST_TEST(count_status(out, "diverged") == 1U);
}

BOOST_AUTO_TEST_CASE(runs_of_other_data_are_not_kept) {
  const scratch_folder folder;
  const auto words = folder / "words.txt";
  const auto write = [&](const char* last) {
    std::ofstream(words) << "the cat sat\nthe dog ran\nthe cat ran\n" << last << '\n';
  };
  write("the dog sat");
  const auto scenario = folder / "words.toml";
  std::ofstream(scenario) << "[scenario]\nname = \"words\"\nrounds = 2\n[data]\nsource = \"text\"\npath = \""
                          << words.string()
                          << "\"\nclients = 2\n[model]\nkind = \"gru-lm\"\nembedding = 4\nhidden = 4\n"
                             "[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 2\n";
  const auto out = folder / "sweep";
  const auto first = run_furlong(folder, sweep(scenario, out, {"--seeds", "1"}));
  BOOST_REQUIRE_MESSAGE(first.code == 0, first.err);
  const auto summary = out / "words-seed=1" / "summary.json";
  write("a bird flew");
  const auto other = run_furlong(folder, sweep(scenario, out, {"--seeds", "1,2"}));
  BOOST_TEST(other.code == 3);
  BOOST_TEST(has(other.err, "words-seed=1: the data differ from those that the run started with: the content of " +
                                words.string()),
             other.err);
  BOOST_TEST(!std::filesystem::exists(out / "words-seed=2"));
  write("the dog sat");
  auto older = nlohmann::json::parse(read_file(summary));
  older["furlong"] = "0.0.1";
  std::ofstream(summary) << older;
  const auto same = run_furlong(folder, sweep(scenario, out, {"--seeds", "1,2"}));
  BOOST_TEST(same.code == 0, same.err);
  BOOST_TEST(has(same.err, "note: 1 of the finished runs was computed by furlong 0.0.1"), same.err);
}

BOOST_AUTO_TEST_CASE(a_stopped_sweep_goes_on_and_ends_like_one_that_was_not) {
  const scratch_folder folder;
  const scratch_folder elsewhere;
  const auto scenario = small_scenario(folder, "furl", 400);
  const auto out = folder / "sweep";
  const std::vector<std::string> grid = {"--seeds", "1,2", "--jobs", "1"};
  furlong_process process(folder, sweep(scenario, out, grid));
  const auto checkpoint = out / "small-seed=1" / "checkpoint";
  const auto begun = [&] {
    std::error_code gone;
    return std::filesystem::exists(checkpoint, gone) && !std::filesystem::is_empty(checkpoint, gone);
  };
  for (int i = 0; i < 60000 && !begun(); ++i) ::usleep(1000);
  // Nobody else may sweep here meanwhile.
  const auto second = run_furlong(elsewhere, sweep(scenario, out, grid));
  process.send(SIGTERM);
  BOOST_TEST(process.wait() == 5);
  BOOST_TEST(second.code == 2);
  BOOST_TEST(has(second.err, "another process"), second.err);
  BOOST_TEST(count_status(out, "waiting") >= 1U);
  BOOST_TEST(count_status(out, "failed") == 0U);
  BOOST_TEST(!has(process.err() + process.out(), "failed"), process.err() << process.out());

  const auto done = run_furlong(folder, sweep(scenario, out, grid));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  const auto whole = folder / "whole";
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario.string(), "--out", whole.string()}).code == 0);
  BOOST_TEST(summary_of(out / "small-seed=1")["model_sha256"] == summary_of(whole)["model_sha256"]);
}

// A sweep that is killed leaves processes, which go on to the end of their round.
BOOST_AUTO_TEST_CASE(a_sweep_after_a_kill_waits_for_what_the_first_one_left) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 400);
  const auto out = folder / "sweep";
  const std::vector<std::string> grid = {"--seeds", "1,2", "--jobs", "2"};
  furlong_process killed(folder, sweep(scenario, out, grid));
  const auto checkpoint = out / "small-seed=1" / "checkpoint";
  for (int i = 0; i < 60000 && !std::filesystem::exists(checkpoint); ++i) ::usleep(1000);
  killed.send(SIGKILL);
  static_cast<void>(killed.wait());
  const int log = ::open((out / "logs" / "small-seed=1.stderr").c_str(), O_RDONLY | O_CLOEXEC);
  BOOST_REQUIRE(log >= 0);
  while (::flock(log, LOCK_EX) != 0) ::usleep(1000);  // as if that process took long
  furlong_process again(folder, sweep(scenario, out, grid));
  const auto waits = [&] { return has(again.err(), "note: small-seed=1: waiting until a process"); };
  for (int i = 0; i < 60000 && !waits(); ++i) ::usleep(1000);
  BOOST_TEST(waits(), again.err());
  ::close(log);
  BOOST_TEST(again.wait() == 0, again.err());
  BOOST_TEST(count_status(out, "done") == 2U);
}

BOOST_AUTO_TEST_CASE(smoke_sweeps_the_small_variant) {
  const scratch_folder folder;
  const auto out = folder / "sweep";
  const auto done = run_furlong(
      folder, sweep(small_scenario(folder, "fedavg"), out, {"--smoke", "--grid", "algorithm.client.lr=0.01,0.02"}));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  for (const auto& row : rows_of(out)) BOOST_TEST(row["figures"]["rounds"] == 3);
}

BOOST_AUTO_TEST_SUITE_END()
