// furlong test: verdicts, exit codes, baselines, smoke variants.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_test)

using namespace furlong::tests;

namespace {

/// The small scenario with an [expect] table.
std::filesystem::path expecting(const scratch_folder& folder, const std::string& kind, const std::string& more) {
  const auto file = small_scenario(folder, kind);
  std::ofstream(file, std::ios::app) << more;
  return file;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t folders_in_temp() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
    if (entry.path().filename().string().starts_with("furlong-test-")) ++count;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_holds_is_ok_and_what_does_not_fails) {
  const scratch_folder folder;
  // One folder of runs of its own, so that what is left behind can be counted.
  std::filesystem::create_directories(folder / "temp");
  ::setenv("TMPDIR", (folder / "temp").c_str(), 1);
  const auto good = expecting(folder, "furl",
                              "[expect]\n\"selected\" = {equals = 400}\n\"algorithm\" = {equals = \"furl\"}\n"
                              "\"eval.unseen.rmse\" = {at_least = 0.1, at_most = 5}\n");
  const auto fine = run_furlong(folder, {"test", good.string()});
  BOOST_TEST(fine.code == 0, fine.out << fine.err);
  BOOST_TEST(has(fine.out, "ok   selected = 400 (equals 400)"), fine.out);
  BOOST_TEST(has(fine.out, "ok   accounting"));
  BOOST_TEST(!has(fine.out, "FAIL"));
  const auto bad = expecting(folder, "fedrecon",
                             "[expect]\n\"eval.unseen.rmse\" = {at_most = 0.001}\n\"selected\" = {equals = 400}\n");
  const auto failed = run_furlong(folder, {"test", good.string(), bad.string()});
  BOOST_TEST(failed.code == 1);
  BOOST_TEST(has(failed.out, "FAIL eval.unseen.rmse = "), failed.out);
  BOOST_TEST(has(failed.out, bad.string() + ":"));  // where it is expected
  BOOST_TEST(has(failed.out, "2 scenarios: "));
  BOOST_TEST(has(failed.out, ", 1 failed\n"));
  BOOST_TEST(folders_in_temp() == 0U);
  const auto kept = run_furlong(folder, {"test", good.string(), "--keep"});
  BOOST_TEST(kept.code == 0);
  BOOST_TEST(folders_in_temp() == 1U);
  ::unsetenv("TMPDIR");
}

BOOST_AUTO_TEST_CASE(a_scenario_that_expects_nothing_is_judged_by_what_always_holds) {
  const scratch_folder folder;
  for (const std::string kind : {"furl", "fedavg", "centralized"}) {
    const auto done = run_furlong(folder, {"test", small_scenario(folder, kind).string()});
    BOOST_TEST(done.code == 0, done.out << done.err);
    BOOST_TEST(has(done.out, "6 held, 0 failed"), done.out);
  }
}

BOOST_AUTO_TEST_CASE(problems_are_found_before_anything_runs) {
  const scratch_folder folder;
  const auto good = small_scenario(folder, "furl");
  const auto typo = expecting(folder, "fedavg", "[expect]\n\"eval.unsean.rmse\" = {at_most = 1}\n");
  const auto lonely =
      expecting(folder, "fedrecon", "[expect]\n\"eval.unseen.rmse\" = {within = 0.1, baseline = \"gone.toml\"}\n");
  const auto done = run_furlong(folder, {"test", good.string(), typo.string(), lonely.string()});
  BOOST_TEST(done.code == 2);
  BOOST_TEST(done.out.empty(), done.out);
  BOOST_TEST(has(done.err, typo.string()));
  BOOST_TEST(has(done.err, "gone.toml"), done.err);
}

BOOST_AUTO_TEST_CASE(missing_data_and_failed_runs_have_their_own_codes) {
  const scratch_folder folder;
  ::setenv("FURLONG_DATA", folder.path().c_str(), 1);
  const auto missing = run_furlong(folder, {"test", "--smoke", "scenarios/movielens-fedrecon.toml"});
  ::unsetenv("FURLONG_DATA");
  BOOST_TEST(missing.code == 3, missing.out << missing.err);
  BOOST_TEST(has(missing.out, "grouplens.org"), missing.out);
  const auto wild = small_scenario(folder, "fedrecon");
  auto text = read_file(wild);
  text.replace(text.find("lr = 0.05"), 9, "lr = 1e30");
  std::ofstream(wild) << text;
  const auto diverged = run_furlong(folder, {"test", wild.string()});
  BOOST_TEST(diverged.code == 4);
  BOOST_TEST(has(diverged.out, "lower algorithm.client.lr"), diverged.out);
}

BOOST_AUTO_TEST_CASE(a_baseline_is_run_once_and_compared_with) {
  const scratch_folder folder;
  const auto other = small_scenario(folder, "fedavg");
  const auto table = [&](const std::string& within) {
    return "[expect]\n\"eval.unseen.rmse\" = {within = " + within + ", baseline = \"" + other.filename().string() +
           "\"}\n\"bytes_down\" = {within = 10, baseline = \"" + other.filename().string() + "\"}\n";
  };
  const auto near = expecting(folder, "furl", table("10"));
  const auto out = folder / "runs";
  const auto done = run_furlong(folder, {"test", near.string(), other.string(), "--out", out.string()});
  BOOST_TEST(done.code == 0, done.out << done.err);
  BOOST_TEST(has(done.out, "in " + other.filename().string()), done.out);
  std::size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) runs += entry.is_directory();
  BOOST_TEST(runs == 2U);  // the baseline is also one of the tested
  const auto exact = expecting(folder, "fedrecon", table("0"));
  BOOST_TEST(run_furlong(folder, {"test", exact.string()}).code == 1);
}

BOOST_AUTO_TEST_CASE(smoke_runs_the_small_variant_with_its_own_expectations) {
  const scratch_folder folder;
  const auto both = expecting(folder, "furl",
                              "[expect]\n\"rounds\" = {equals = 20}\n[smoke]\n\"scenario.rounds\" = 5\n"
                              "[smoke.expect]\n\"rounds\" = {equals = 5}\n");
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"test", both.string()}, {"test", both.string(), "--smoke"}}) {
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 0, done.out << done.err);
    BOOST_TEST(has(done.out, "ok   rounds = "));
  }
  // Without [smoke]: a few rounds, of which nothing is expected.
  const auto plain = expecting(folder, "fedavg", "[expect]\n\"rounds\" = {equals = 20}\n");
  const auto out = folder / "runs";
  const auto done = run_furlong(folder, {"test", "--smoke", plain.string(), "--out", out.string()});
  BOOST_TEST(done.code == 0, done.out << done.err);
  BOOST_TEST(summary_of(out / "small-smoke")["rounds"] == 3);
}

// summary.json has it: the case that was refused.
BOOST_AUTO_TEST_CASE(the_privacy_of_a_run_can_be_expected) {
  const scratch_folder folder;
  const auto private_run = expecting(folder, "furl",
                                     "policy = \"poisson\"\nrate = 0.1\n[privacy]\nclip = 1.0\nnoise = 1.0\n"
                                     "[expect]\n\"privacy.epsilon\" = {at_most = 30}\nclock = {equals = \"virtual\"}\n"
                                     "private_state = {equals = true}\n\"scored_on.problem\" = {is = \"ratings\"}\n");
  auto text = read_file(private_run);
  const auto policy = text.find("policy =");
  const auto line = text.substr(policy, text.find("[privacy]") - policy);
  text.erase(policy, line.size());
  text.replace(text.find("per_round = 20\n"), 15, line);
  const std::string rule = "aggregation = {rule = \"uniform-mean\"}\n";
  text.insert(text.find("client = {"), rule);
  std::ofstream(private_run) << text;
  const auto done = run_furlong(folder, {"test", private_run.string()});
  BOOST_TEST(done.code == 0, done.out << done.err);
  BOOST_TEST(has(done.out, "ok   privacy.epsilon = "), done.out);
  BOOST_TEST(has(done.out, "ok   scored_on.problem = \"ratings\""), done.out);
}

// What is scored follows from the data and their split, and not from what trains on them.
BOOST_AUTO_TEST_CASE(a_summary_says_what_its_figures_are_of) {
  const scratch_folder folder;
  const auto file = small_scenario(folder, "furl", 2);
  const auto scored_on = [&](const std::string& name, const std::string& set) {
    const auto out = folder / name;
    const auto done = run_furlong(folder, {"run", file.string(), "--out", out.string(), "--set", set});
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return summary_of(out)["scored_on"];
  };
  const auto plain = scored_on("plain", "scenario.rounds=2");
  BOOST_TEST(plain["problem"] == "ratings");
  BOOST_TEST(plain == scored_on("lr", "algorithm.client.lr=0.2"));
  BOOST_TEST(plain == scored_on("batches", "algorithm.client.batch_size=2"));
  BOOST_TEST(plain == scored_on("ahead", "data.generate=ahead"));
  const auto start = folder / "start.npz";
  BOOST_TEST(run_furlong(folder, {"export", (folder / "lr").string(), "--model", start.string()}).code == 0);
  BOOST_TEST(plain == scored_on("started", "model.start_from=" + start.string()));
  std::ofstream(folder / "phones.csv") << "# length = 1000\n# clients = 1\nclient,start,end\n0,0,1000\n";
  BOOST_TEST(plain == scored_on("traced", "devices.availability=" + (folder / "phones.csv").string()));
  BOOST_TEST(plain["data"] != scored_on("noise", "data.noise=0.5")["data"]);
  BOOST_TEST(plain["data"] != scored_on("split", "data.split=[0.7,0.1,0.2]")["data"]);
  BOOST_TEST(plain["data"] != scored_on("seed", "scenario.seed=2")["data"]);
}

BOOST_AUTO_TEST_CASE(several_seeds_run_at_once_and_figures_are_numbers) {
  const scratch_folder folder;
  const auto file = expecting(folder, "fedavg", "[expect]\n\"eval.unseen.rmse\" = {at_most = 5}\n");
  const auto done = run_furlong(folder, {"test", file.string(), "--seeds", "3,4", "--jobs", "2", "--out",
                                         (folder / "runs").string(), "--format", "json"});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.out << done.err);
  const auto found = nlohmann::json::parse(done.out);
  BOOST_REQUIRE(found["scenarios"].size() == 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& one = found["scenarios"][i];
    BOOST_TEST(one["seed"] == 3 + i);
    const auto summary = summary_of(folder / ("runs/small-seed=" + std::to_string(3 + i)));
    BOOST_TEST(one["conditions"][0]["value"] == summary["eval"]["unseen"]["rmse"]);
    BOOST_TEST(!one["conditions"].back().contains("value"));
    BOOST_TEST(one["seconds"] > 0.0);
  }
  const auto xml = run_furlong(folder, {"test", file.string(), "--seeds", "3,4", "--format", "junit"});
  BOOST_TEST(has(xml.out, "<testsuite name=\"small, seed 4\""), xml.out);
}

// The proposal of some seeds holds for them; of one seed it is the hash at the level of the kernels.
BOOST_AUTO_TEST_CASE(proposed_bounds_hold_for_the_seeds_that_they_are_of) {
  const scratch_folder folder;
  const auto plain = small_scenario(folder, "fedavg", 4);
  const auto text = read_file(plain);
  const auto proposed = run_furlong(folder, {"test", plain.string(), "--seeds", "1,2,3", "--propose"});
  BOOST_REQUIRE_MESSAGE(proposed.code == 0, proposed.out << proposed.err);
  BOOST_TEST(has(proposed.out, "[expect]\n# Of the seeds 1 2 3: mean +- 3 standard deviations.\n"), proposed.out);
  BOOST_TEST(has(proposed.out, "\"eval.unseen.rmse\" = {at_least = "), proposed.out);
  BOOST_TEST(!has(proposed.out, "examples"), proposed.out);
  std::ofstream(plain) << text << proposed.out;
  const auto held = run_furlong(folder, {"test", plain.string(), "--seeds", "1,2,3"});
  BOOST_TEST(held.code == 0, held.out << held.err);

  std::ofstream(plain) << text;
  const auto hash = run_furlong(folder, {"test", plain.string(), "--propose"});
  BOOST_TEST(has(hash.out, "\"model_sha256\" = {is = {"), hash.out);
  std::ofstream(plain) << text << hash.out;
  const auto golden = run_furlong(folder, {"test", plain.string()});
  BOOST_TEST(golden.code == 0, golden.out << golden.err);
  BOOST_TEST(has(golden.out, "ok   model_sha256 = "), golden.out);
  BOOST_TEST(!has(golden.out, "not judged"), golden.out);
  BOOST_TEST(run_furlong(folder, {"test", plain.string(), "--seed", "2"}).code == 1);
}

BOOST_AUTO_TEST_CASE(a_failure_can_be_expected) {
  const scratch_folder folder;
  const auto wild = small_scenario(folder, "fedrecon");
  auto text = read_file(wild);
  text.replace(text.find("lr = 0.05"), 9, "lr = 1e30");
  std::ofstream(wild) << text;
  const auto out = folder / "runs";
  BOOST_TEST(run_furlong(folder, {"test", wild.string(), "--out", out.string()}).code == 4);
  const auto reason = summary_of(out / "small")["failed"].get<std::string>();
  std::ofstream(wild) << text << "[expect]\nfailed = {equals = " << nlohmann::json(reason).dump() << "}\n";
  const auto done = run_furlong(folder, {"test", wild.string()});
  BOOST_TEST(done.code == 0, done.out << done.err);
}

BOOST_AUTO_TEST_CASE(smoke_names_itself_where_it_ends_a_run_before_its_events) {
  const scratch_folder folder;
  const auto file = expecting(folder, "fedavg", "[[event]]\nat = \"round 10\"\nleave = \"3\"\n");
  const auto done = run_furlong(folder, {"test", "--smoke", file.string()});
  BOOST_TEST(done.code == 2, done.out << done.err);
  BOOST_TEST(has(done.err, "is after the last round, 3, at which --smoke ends the run; add a [smoke] table"), done.err);
}

BOOST_AUTO_TEST_CASE(events_that_the_run_ends_before_are_noted) {
  const scratch_folder folder;
  const auto file = expecting(folder, "fedavg",
                              "[[event]]\nat = \"round 2\"\nleave = \"3\"\n[[event]]\nat = \"9d\"\nleave = \"4\"\n");
  const auto done = run_furlong(folder, {"run", file.string(), "--out", (folder / "run").string()});
  BOOST_TEST(done.code == 0, done.err);
  BOOST_TEST(has(done.err, "note: event[2] at 777600 s did not happen: the run ended at "), done.err);
  BOOST_TEST(!has(done.err, "event[1]"), done.err);
}

BOOST_AUTO_TEST_CASE(runs_of_an_earlier_test_are_made_anew_and_nothing_else_is_removed) {
  const scratch_folder folder;
  const auto out = folder / "runs";
  const auto long_one = small_scenario(folder, "furl", 1000000);
  const auto has_file = [&](const char* name) { return std::filesystem::exists(out / "small" / name); };
  furlong_process killed(folder, {"test", long_one.string(), "--out", out.string()});
  for (int i = 0; i < 60000 && !has_file("checkpoint"); ++i) ::usleep(1000);
  BOOST_TEST(run_furlong(folder, {"test", long_one.string(), "--out", out.string()}).code == 2);  // one at a time
  killed.send(SIGKILL);
  static_cast<void>(killed.wait());
  const auto words =
      std::vector<std::string>{"test", small_scenario(folder, "furl", 5).string(), "--out", out.string()};
  for (int i = 0; i < 2; ++i) {  // after a killed test, and after one that ended
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 0, done.out << done.err);
    BOOST_TEST(summary_of(out / "small")["rounds"] == 5);
  }
  std::filesystem::remove(out / "small.toml");  // as if `furlong run` had made the folder
  const auto foreign = run_furlong(folder, words);
  BOOST_TEST(foreign.code == 2, foreign.out << foreign.err);
  BOOST_TEST(has_file("summary.json"));
}

BOOST_AUTO_TEST_CASE(a_signal_stops_it_and_leaves_nothing) {
  const scratch_folder folder;
  std::filesystem::create_directories(folder / "temp");
  ::setenv("TMPDIR", (folder / "temp").c_str(), 1);
  furlong_process process(folder, {"test", small_scenario(folder, "fedrecon", 1000000).string()});
  const auto run_is_on = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder / "temp"))
      if (std::filesystem::exists(entry.path() / "small" / "metrics.jsonl")) return true;
    return false;
  };
  for (int i = 0; i < 60000 && !run_is_on(); ++i) ::usleep(1000);
  process.send(SIGTERM);
  BOOST_TEST(process.wait() == 5);
  BOOST_TEST(folders_in_temp() == 0U);
  ::unsetenv("TMPDIR");
}

BOOST_AUTO_TEST_SUITE_END()
