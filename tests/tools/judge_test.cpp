// Expectations and invariants, judged on summaries and run directories written by hand.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "tests/tools/command.hpp"
#include "tools/expectations/expectations.hpp"

BOOST_AUTO_TEST_SUITE(judge)

using namespace furlong;
using namespace furlong::tools;
using scenarios::expectation;
using scenarios::expectation_kind;
using json = nlohmann::ordered_json;

namespace {

const json sample = {{"algorithm", "furl"},
                     {"selected", 30},
                     {"folded", 25},
                     {"rejected", {{"norm-bound", 2}}},
                     {"dropped", {{"train", 1}}},
                     {"late", 1},
                     {"surplus", 0},
                     {"abandoned", 0},
                     {"in_flight", 1},
                     {"private_state", true},
                     {"private_clients", 4},
                     {"participation", {{"tasks", 30}, {"updates", 25}, {"overcounted", 0}}},
                     {"reached", true},
                     {"eval", {{"unseen", {{"rmse", 0.9}, {"bins", {{{"rmse", 1.5}}}}}}}}};
const std::vector<json> sample_rounds = {{{"round", 1},
                                          {"began", 0.0},
                                          {"ended", 5.0},
                                          {"selected", 20},
                                          {"folded", 15},
                                          {"rejected", 2},
                                          {"in_flight", 3},
                                          {"spans",
                                           {{{"client", 3}, {"started", 0.0}, {"ended", 4.0}, {"outcome", "folded"}},
                                            {{"client", 4}, {"started", 0.0}, {"ended", 4.5}, {"outcome", "folded"}}}}},
                                         {{"round", 2},
                                          {"began", 5.0},
                                          {"ended", 9.0},
                                          {"selected", 10},
                                          {"folded", 10},
                                          {"rejected", 0},
                                          {"late", 1},
                                          {"dropped", {{"train", 1}}},
                                          {"in_flight", 1}}};

result<json> no_baseline(const std::filesystem::path& file) {
  return fail(error::kind::runtime, file.string(), "there is none");
}

finding judged(expectation one, const baseline_summary& baseline = no_baseline) {
  one.place = "x.toml:7:1";
  const auto found = judge_expectations({one}, sample, baseline);
  BOOST_REQUIRE(found.size() == 1U);
  return found.front();
}

expectation wanted(const std::string& key, expectation_kind kind, std::variant<double, std::string, bool> value) {
  expectation one;
  one.key = key;
  one.kind = kind;
  one.value = std::move(value);
  return one;
}

/// A run directory with these contents.
struct run_files {
  furlong::tests::scratch_folder folder;
  json summary = sample;
  std::vector<json> rounds = sample_rounds;
  std::vector<json> events = {{{"time", 1.0}, {"event", "late"}}, {{"time", 2.0}, {"event", "dropped"}}};

  [[nodiscard]] findings judge() {
    std::ofstream(folder / "summary.json") << summary;
    std::ofstream metrics(folder / "metrics.jsonl");
    for (const auto& line : rounds) metrics << line << '\n';
    metrics.close();
    std::ofstream out(folder / "events.jsonl");
    for (const auto& line : events) out << line << '\n';
    out.close();
    const auto found = judge_invariants(folder.path());
    if (!found) BOOST_FAIL(found.error().text());
    return *found;
  }
  /// The one line that failed; fails the test unless there is exactly one.
  [[nodiscard]] std::string only_failure() {
    std::string text;
    std::size_t count = 0;
    for (const auto& one : judge())
      if (!one.held) {
        text = one.text;
        ++count;
      }
    BOOST_TEST(count == 1U);
    return text;
  }
};

}  // namespace

// Hashes of other levels of the kernels are another matter; and the figure is there as a number.
BOOST_AUTO_TEST_CASE(a_bound_for_a_level_is_about_runs_of_this_level) {
  auto summary = sample;
  summary["kernel_level"] = "x86-64-v3";
  auto one = wanted("algorithm", expectation_kind::equals, "fedavg");
  const auto judged_at = [&](const char* level) {
    one.level = level;
    return judge_expectations({one}, summary, no_baseline).front();
  };
  BOOST_TEST(!judged_at("").held);
  BOOST_TEST(!judged_at("x86-64-v3").held);
  BOOST_TEST(judged_at("x86-64-v4").held);
  BOOST_TEST(judged_at("x86-64-v4").text == "algorithm = \"furl\" (not judged: kernels of level x86-64-v3)");
  BOOST_TEST(judged(wanted("selected", expectation_kind::at_most, 40.0)).value == 30);
}

BOOST_AUTO_TEST_CASE(bounds_hold_at_their_very_value) {
  const double above = std::nextafter(0.9, 1.0);
  const double below = std::nextafter(0.9, 0.0);
  BOOST_TEST(judged(wanted("eval.unseen.rmse", expectation_kind::at_most, 0.9)).held);
  BOOST_TEST(!judged(wanted("eval.unseen.rmse", expectation_kind::at_most, below)).held);
  BOOST_TEST(judged(wanted("eval.unseen.rmse", expectation_kind::at_least, 0.9)).held);
  BOOST_TEST(!judged(wanted("eval.unseen.rmse", expectation_kind::at_least, above)).held);
  BOOST_TEST(line_of(judged(wanted("eval.unseen.rmse", expectation_kind::at_most, 0.91))) ==
             "ok   eval.unseen.rmse = 0.9 (at most 0.91)");
  BOOST_TEST(line_of(judged(wanted("selected", expectation_kind::at_least, 31.0))) ==
             "FAIL selected = 30 (at least 31) [x.toml:7:1]");
}

BOOST_AUTO_TEST_CASE(equality_knows_numbers_texts_and_truth_values) {
  BOOST_TEST(judged(wanted("selected", expectation_kind::equals, 30.0)).held);
  BOOST_TEST(!judged(wanted("selected", expectation_kind::equals, 31.0)).held);
  BOOST_TEST(judged(wanted("algorithm", expectation_kind::equals, "furl")).held);
  BOOST_TEST(!judged(wanted("algorithm", expectation_kind::equals, "fedavg")).held);
  BOOST_TEST(judged(wanted("reached", expectation_kind::equals, true)).held);
  BOOST_TEST(!judged(wanted("reached", expectation_kind::equals, false)).held);
  BOOST_TEST(!judged(wanted("selected", expectation_kind::equals, "30")).held);
}

BOOST_AUTO_TEST_CASE(figures_left_out_because_they_are_zero_are_zero) {
  BOOST_TEST(judged(wanted("dropped.upload", expectation_kind::equals, 0.0)).held);
  BOOST_TEST(judged(wanted("rejected.not-finite", expectation_kind::at_most, 0.0)).held);
  BOOST_TEST(!judged(wanted("rejected.norm-bound", expectation_kind::at_most, 1.0)).held);
  BOOST_TEST(!judged(wanted("rejected.norm-bond", expectation_kind::at_most, 1.0)).held);
}

BOOST_AUTO_TEST_CASE(figures_that_are_not_there_or_no_numbers_fail) {
  const auto missing = judged(wanted("eval.seen.rmse", expectation_kind::at_most, 10.0));
  BOOST_TEST(!missing.held);
  BOOST_TEST(missing.text.find("eval has unseen") != std::string::npos, missing.text);
  auto diverged = sample;
  diverged["eval"]["unseen"]["rmse"] = nullptr;
  const auto found =
      judge_expectations({wanted("eval.unseen.rmse", expectation_kind::at_least, 0.0)}, diverged, no_baseline);
  BOOST_TEST(!found.front().held);
  BOOST_TEST(!judged(wanted("algorithm", expectation_kind::at_most, 1.0)).held);
  BOOST_TEST(judged(wanted("eval.unseen.bins.0.rmse", expectation_kind::at_most, 1.5)).held);
  BOOST_TEST(!judged(wanted("eval.unseen.bins.1.rmse", expectation_kind::at_most, 1.5)).held);
}

BOOST_AUTO_TEST_CASE(within_compares_relative_to_the_baseline) {
  auto one = wanted("eval.unseen.rmse", expectation_kind::within, 0.1);
  one.baseline = "/somewhere/other.toml";
  for (const auto& [other, held] :
       std::vector<std::pair<double, bool>>{{0.9, true}, {0.82, true}, {0.81, false}, {1.0, true}, {1.1, false}}) {
    const auto found = judged(one, [&, value = other](const std::filesystem::path& file) -> result<json> {
      BOOST_TEST(file == one.baseline);
      return json{{"eval", {{"unseen", {{"rmse", value}}}}}};
    });
    BOOST_TEST(found.held == held, found.text);
    BOOST_TEST(found.text.find("other.toml") != std::string::npos);
  }
  BOOST_TEST(!judged(one).held);  // no baseline, no comparison
  one = wanted("eval.unseen.rmse", expectation_kind::within, 3.0);
  one.baseline = "/somewhere/other.toml";
  BOOST_TEST(judged(one, [](const std::filesystem::path&) -> result<json> {
               return json{{"eval", {{"unseen", {{"rmse", -0.9}}}}}};
             }).held);
}

BOOST_AUTO_TEST_CASE(a_sound_run_holds_all_invariants) {
  run_files run;
  const auto found = run.judge();
  BOOST_TEST(found.size() == 6U);
  for (const auto& one : found) BOOST_TEST(one.held, one.text);
}

BOOST_AUTO_TEST_CASE(a_lost_task_is_noticed) {
  run_files run;
  run.summary["late"] = 0;
  BOOST_TEST(run.only_failure().starts_with("accounting: 30 selected is not"));
}

BOOST_AUTO_TEST_CASE(rounds_that_do_not_add_up_are_named) {
  run_files run;
  run.rounds[0]["in_flight"] = 2;
  BOOST_TEST(run.only_failure().find("up to round 1, 20 selected") != std::string::npos);
  run_files fewer;
  fewer.rounds.pop_back();
  BOOST_TEST(fewer.only_failure().find("metrics.jsonl has 20 selected, summary.json 30") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_update_folded_twice_is_noticed) {
  run_files twice;
  twice.rounds[0]["spans"][1]["client"] = 3;
  BOOST_TEST(twice.only_failure().find("client 3 in round 1") != std::string::npos);
  run_files over;
  over.summary["participation"]["overcounted"] = 1;
  BOOST_TEST(over.only_failure().starts_with("folded once: 1 clients"));
  run_files unlike;
  unlike.summary["participation"]["updates"] = 26;
  BOOST_TEST(unlike.only_failure().find("26 updates, the run counts 25 folded") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(private_values_are_only_for_algorithms_that_keep_them) {
  run_files run;
  run.summary["private_state"] = false;
  BOOST_TEST(run.only_failure().starts_with("private values: 4 clients"));
  run.summary["private_clients"] = 0;
  for (const auto& one : run.judge()) BOOST_TEST(one.held, one.text);
  std::filesystem::create_directories(run.folder / "private");
  for (const auto& one : run.judge()) BOOST_TEST(one.held, one.text);  // an empty folder is no data
  std::ofstream(run.folder / "private/values") << "x";
  BOOST_TEST(run.only_failure().find("private/ holds files") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_named) {
  run_files run;
  run.summary["eval"]["unseen"]["rmse"] = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(run.only_failure() == "finite: eval.unseen.rmse is not");
  run.summary = sample;
  run.rounds[1]["loss"] = nullptr;
  BOOST_TEST(run.only_failure() == "finite: loss of round 2 is not");
}

BOOST_AUTO_TEST_CASE(time_that_goes_back_is_noticed) {
  run_files rounds;
  rounds.rounds[1]["ended"] = 4.0;
  BOOST_TEST(rounds.only_failure().starts_with("time: round 2"));
  run_files events;
  events.events[1]["time"] = 0.5;
  BOOST_TEST(events.only_failure().starts_with("time: an event at 0.5 s"));
}

BOOST_AUTO_TEST_CASE(files_that_are_damaged_are_errors) {
  run_files run;
  static_cast<void>(run.judge());
  std::ofstream(run.folder / "metrics.jsonl", std::ios::app) << "{\"round\": \n";
  const auto found = judge_invariants(run.folder.path());
  BOOST_REQUIRE(!found);
  BOOST_TEST(found.error().place.ends_with("metrics.jsonl:3"));
  std::filesystem::remove(run.folder / "summary.json");
  BOOST_TEST(!judge_invariants(run.folder.path()));
}

BOOST_AUTO_TEST_SUITE_END()
