// Runs in virtual time, as processes: the same bytes whatever the threads, the engine and the store.
#include <iomanip>
#include <map>
#include <sstream>

#include "tests/tools/simulated_scenario.hpp"

BOOST_AUTO_TEST_SUITE(command_virtual_time)

using namespace furlong::tests;
using nlohmann::json;

namespace {

/// Lines of metrics.jsonl by their round.
std::map<std::uint64_t, json> rounds_of(const std::filesystem::path& run) {
  std::map<std::uint64_t, json> all;
  std::ifstream lines(run / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    auto one = json::parse(line);
    const auto round = one["round"].get<std::uint64_t>();
    all[round] = std::move(one);
  }
  return all;
}

/// A run in virtual time of at most 20 rounds, evaluated after every fifth, with this target.
std::filesystem::path run_to_target(const scratch_folder& folder, const std::string& name, double at_most, bool until) {
  const auto scenario = small_scenario(folder, "furl");
  auto text = read_file(scenario);
  std::ostringstream target;
  target << std::setprecision(17) << "[evaluation]\ntarget = {metric = \"validation.rmse\", at_most = " << at_most
         << "}";
  text.replace(text.find("[evaluation]"), 12, target.str());
  if (until) text.replace(text.find("rounds = 20"), 11, "until = {rounds = 20, target = true}");
  std::ofstream(scenario) << text;
  auto out = folder / name;
  const auto done = run_furlong(folder, run_words(scenario, out, {"--set", "scenario.clock=virtual"}));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_and_engine_do_not_change_a_byte) {
  const scratch_folder folder;
  for (const auto& of : {wild_sync(), wild_fedbuff(100), wild_fedasync(800)}) {
    BOOST_TEST_CONTEXT(of.name) {
      const auto scenario = simulated_scenario(folder, of);
      const auto first = folder / (of.name + "-1");
      int number = 1;
      for (const auto& words : std::vector<std::vector<std::string>>{
               {"--threads", "1"}, {"--threads", "2"}, {"--threads", "4"}, {"--engine", "reference"}}) {
        const auto out = folder / (of.name + '-' + std::to_string(number++));
        const auto done = run_furlong(folder, run_words(scenario, out, words));
        BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
        expect_same_run(first, out);
      }
      expect_it_was_hard(first);
    }
  }
}

BOOST_AUTO_TEST_CASE(layout_and_encryption_do_not_change_a_bit_of_the_results) {
  const scratch_folder folder;
  const auto first = folder / "first";
  int number = 0;
  for (const std::string own : {"", "layout = \"bucketed\"", "key_file = \"KEY\"",
                                "layout = \"bucketed\"\nkey_file = \"KEY\"\nopen_shards = 1"}) {
    auto of = wild_sync();
    of.own = own;
    if (const auto at = of.own.find("KEY"); at != std::string::npos)
      of.own.replace(at, 3, (folder / ("key" + std::to_string(number))).string());
    const auto out = number++ == 0 ? first : folder / std::to_string(number);
    const auto done = run_furlong(folder, run_words(simulated_scenario(folder, of), out, {"--threads", "3"}));
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    expect_same_run(first, out);
  }
}

BOOST_AUTO_TEST_CASE(a_run_without_time_of_its_own_is_that_of_the_real_clock) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl").string();
  for (const std::string clock : {"real", "virtual"}) {
    const auto done = run_furlong(folder, {"run", scenario, "--out", (folder / clock).string(), "--set",
                                           "scenario.clock=" + clock, "--threads", "2"});
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  }
  const auto real = summary_of(folder / "real");
  const auto simulated = summary_of(folder / "virtual");
  for (const char* key : {"model_sha256", "private_sha256", "eval", "selected", "folded", "bytes_up", "bytes_down"})
    BOOST_TEST(real[key] == simulated[key], key);
  BOOST_TEST(real["virtual_seconds"] == 0.0);
  BOOST_TEST(simulated["virtual_seconds"].get<double>() > 0.0);
}

BOOST_AUTO_TEST_CASE(rounds_that_come_to_nothing_take_time) {
  const scratch_folder folder;
  auto of = wild_sync();
  of.participation = "per_round = 90\nmin_reports = 90\nretry = 600";
  of.availability = "{kind = \"bernoulli\", rate = 0.2}";
  const auto out = folder / "run";
  const auto done = run_furlong(folder, run_words(simulated_scenario(folder, of), out, {}));
  BOOST_TEST(done.code == 4);  // nothing was learned
  const auto summary = summary_of(out);
  BOOST_TEST(summary["rounds_abandoned"] == 30);
  BOOST_TEST(summary["virtual_seconds"].get<double>() >= 30 * 600.0);
  BOOST_TEST(summary["virtual_seconds"].get<double>() < 31 * 600.0);
}

BOOST_AUTO_TEST_CASE(a_run_tells_when_its_target_was_first_reached) {
  const scratch_folder folder;
  const auto never = run_to_target(folder, "never", 0.001, true);
  BOOST_TEST(summary_of(never)["rounds"] == 20);
  BOOST_TEST(summary_of(never)["time_to_target"] ==
             json({{"metric", "validation.rmse"}, {"value", 0.001}, {"reached", false}}));
  auto rounds = rounds_of(never);
  const auto figure = [&](std::uint64_t round) { return rounds[round]["eval"]["validation"]["rmse"].get<double>(); };
  BOOST_REQUIRE(figure(10) < figure(5));
  const double aim = figure(10);
  for (const bool until : {true, false}) {
    const auto summary = summary_of(run_to_target(folder, until ? "until" : "beyond", aim, until));
    BOOST_TEST(summary["rounds"] == (until ? 10 : 20));
    BOOST_TEST(summary["time_to_target"] == json({{"metric", "validation.rmse"},
                                                  {"value", aim},
                                                  {"reached", true},
                                                  {"version", 10},
                                                  {"virtual_seconds", rounds[10]["ended"]}}));
  }
}

BOOST_AUTO_TEST_CASE(clients_on_their_way_back_are_waited_for) {
  const scratch_folder folder;
  // Half an hour between two tasks of a client: longer than it takes to ask everybody.
  for (const std::string participation :
       {"per_round = 40\nreconnect = [1800, 1800]",
        "mode = \"async\"\nbuffer = 40\nconcurrency = 60\nreconnect = [1800, 1800]"}) {
    auto of = wild_sync(12);
    of.name = "pace" + std::to_string(participation.size());
    of.participation = participation;
    of.availability = "{kind = \"bernoulli\", rate = 0.9}";
    const auto out = folder / of.name;
    const auto scenario = simulated_scenario(folder, of);
    auto text = read_file(scenario);
    text.resize(text.find("[dropout]"));
    std::ofstream(scenario) << text;
    const auto done = run_furlong(folder, run_words(scenario, out, {}));
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    const auto summary = summary_of(out);
    BOOST_TEST(summary["rounds_abandoned"] == 0);
    BOOST_TEST(summary["virtual_seconds"].get<double>() > 1800.0);
  }
}

BOOST_AUTO_TEST_CASE(values_that_wait_for_an_acknowledgement_go_with_the_process) {
  const scratch_folder folder;
  for (const std::string commit : {"after-training", "after-ack"}) {
    auto of = wild_sync(1);
    of.name = commit;
    of.own = "commit = \"" + commit + '"';
    of.participation = "per_round = 96";
    of.availability = "\"always\"";
    const auto scenario = simulated_scenario(folder, of);
    auto text = read_file(scenario);
    text.resize(text.find("[dropout]"));
    std::ofstream(scenario) << text << "[[event]]\nat = \"4s\"\nkill = \"0-119\"\n";
    const auto out = folder / ("run-" + commit);
    const auto done = run_furlong(folder, run_words(scenario, out, {}));
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    const auto summary = summary_of(out);
    const auto folded = summary["folded"].get<int>();
    BOOST_TEST(folded > 10);
    BOOST_TEST(folded < 86);
    const auto kept = summary["private_clients"].get<int>();
    if (commit == "after-ack")
      BOOST_TEST(kept == 0);
    else
      BOOST_TEST(kept >= folded);
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_ends_with_an_erasure_says_the_same_when_it_is_resumed) {
  const scratch_folder folder;
  auto of = wild_sync(6);
  of.participation = "per_round = 60";
  of.availability = "\"always\"";
  const auto scenario = simulated_scenario(folder, of);
  auto text = read_file(scenario);
  text.resize(text.find("[dropout]"));
  std::ofstream(scenario) << text << "[[event]]\nat = \"round 6\"\nleave = 0.4\nerase = true\n";
  const auto out = folder / "run";
  BOOST_REQUIRE(run_furlong(folder, run_words(scenario, out, {})).code == 0);
  const auto first = lasting_facts(out);
  BOOST_TEST(first["private_clients"].get<int>() < 75);
  BOOST_REQUIRE(run_furlong(folder, run_words(scenario, out, {"--resume"})).code == 0);
  BOOST_TEST(lasting_facts(out) == first);
}

BOOST_AUTO_TEST_CASE(an_interrupt_is_seen_while_nobody_is_at_work) {
  const scratch_folder folder;
  auto of = wild_sync();
  of.participation = "per_round = 20";
  of.availability = "\"always\"";
  const auto scenario = simulated_scenario(folder, of);
  auto text = read_file(scenario);
  text.resize(text.find("[dropout]"));
  // Some 30,000 rounds of a week each, in which nobody comes.
  text.replace(text.find("rounds = 30"), 11, "until = {virtual_seconds = 2e10}");
  std::ofstream(scenario) << text << "[[event]]\nat = \"round 2\"\nkill = \"0-119\"\n";
  const auto out = folder / "run";
  furlong_process process(folder, run_words(scenario, out, {}));
  for (int i = 0; i < 60000 && read_file(out / "metrics.jsonl").empty(); ++i) ::usleep(1000);
  process.send(SIGINT);
  BOOST_TEST(process.wait() == 5);
}

BOOST_AUTO_TEST_CASE(who_leaves_in_the_middle_of_a_task_is_erased_for_good) {
  const scratch_folder folder;
  // Rounds that are over at once, since too few can be asked, while clients of earlier rounds are at work: their tasks
  // end after the erasure.
  auto of = wild_sync(40);
  of.participation = "per_round = 20\ndeadline = 6\nmin_reports = 20";
  of.availability = "{kind = \"bernoulli\", rate = 0.42}";
  const auto scenario = simulated_scenario(folder, of);
  auto text = read_file(scenario);
  text.resize(text.find("[dropout]"));
  std::ofstream(scenario) << text << "[[event]]\nat = \"round 5\"\nleave = \"0-59\"\nerase = true\n";
  int others = 0;
  for (const std::string seed : {"3", "5", "8"}) {
    const auto out = folder / seed;
    static_cast<void>(run_furlong(folder, run_words(scenario, out, {"--seed", seed, "--threads", "2"})));
    const auto listed = run_furlong(folder, {"store", "ls", out.string(), "--format", "json"});
    BOOST_REQUIRE_MESSAGE(listed.code == 0, listed.err);
    const auto found = json::parse(listed.out);
    for (const auto& one : found.at("clients")) {
      BOOST_TEST(one["client"].get<int>() >= 60);
      ++others;
    }
  }
  BOOST_TEST(others > 0);
}

BOOST_AUTO_TEST_SUITE_END()
