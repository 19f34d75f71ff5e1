// Reports of runs in virtual time: one in synchronous rounds with few and unreliable clients, one asynchronous.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <limits>
#include <unistd.h>

#include "tests/tools/reports.hpp"

using namespace furlong;
using namespace furlong::tools;
using namespace furlong::tests;

namespace {

run_record golden_run(const std::string& name) { return read(golden / name); }

// What reading says of a run of these files.
std::string problem_of(const std::string& summary, const std::string& metrics) {
  const auto at = fs::temp_directory_path() / ("furlong-report-time-" + std::to_string(::getpid()));
  fs::remove_all(at);
  fs::create_directories(at);
  std::ofstream(at / "summary.json") << summary;
  std::ofstream(at / "metrics.jsonl") << metrics;
  const auto run = read_run(at);
  fs::remove_all(at);
  if (run) return "";
  const auto text = run.error().text();
  return text.substr(at.string().size() + 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reading_time)

BOOST_AUTO_TEST_CASE(rounds_tell_times_outcomes_and_tasks) {
  const auto run = golden_run("sparse");
  BOOST_REQUIRE(run.rounds.size() == 6U);
  const auto& third = run.rounds[2];
  BOOST_TEST(third.figure("began").value() == 14400.0);
  BOOST_TEST(third.figure("ended").value() == 15000.0);
  BOOST_TEST(third.count("late") == 2U);
  BOOST_TEST(third.count("probed") == 40U);
  BOOST_TEST(third.count("available") == 14U);
  BOOST_REQUIRE(third.counts_in("dropped.").size() == 1U);
  BOOST_TEST(third.counts_in("dropped.")[0].second == 2U);
  BOOST_REQUIRE(third.spans.size() == 12U);
  BOOST_TEST(third.spans[2].client == 1U);
  BOOST_TEST(third.spans[2].outcome == "dropped");
  BOOST_TEST(third.spans[2].ended == 14510.0);
  BOOST_TEST(run.rounds[3].count("gave_up") == 1U);
  BOOST_TEST(run.deadline.value() == 600.0);
  const std::vector<std::uint64_t> of_six_rounds{13, 9, 1, 1};
  BOOST_TEST(golden_run("async").staleness == of_six_rounds, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(summaries_tell_fairness_target_and_waste) {
  const auto of = golden_run("sparse").summary.value();
  BOOST_TEST(of.figure("wasted.share").value() == 32.0 / 72.0);
  BOOST_TEST(of.count("rounds_abandoned") == 1U);
  BOOST_TEST(of.figure("participation.gini").value() == 0.4375);
  BOOST_TEST(of.count("participation.clients") == 31U);
  BOOST_TEST(of.count("participation.never_folded") == 9U);
  BOOST_TEST(of.figure("time_to_target.reached").value() == 1.0);
  BOOST_TEST(of.count("time_to_target.version") == 4U);
  BOOST_TEST(of.figure("private_staleness_seconds.p90").value() == 28800.5);
  BOOST_REQUIRE(of.by_participation.size() == 4U);
  BOOST_TEST(of.by_participation[3].count("least") == 3U);
  BOOST_TEST(of.by_participation[3].figure("rmse").value() == 0.84);
  BOOST_TEST(of.by_participation[3].count("clients") == 6U);
  BOOST_TEST(golden_run("async").summary->figure("time_to_target.reached").value() == 0.0);
  BOOST_TEST(!golden_run("furl").summary->has_any("participation."));
  BOOST_TEST(!golden_run("furl").deadline);
}

BOOST_AUTO_TEST_CASE(events_have_stages_and_ranges_but_no_times) {
  const auto run = golden_run("sparse");
  const auto train = std::find_if(run.events.begin(), run.events.end(),
                                  [](const auto& kind) { return kind.event == "dropped" && kind.reason == "train"; });
  BOOST_REQUIRE((train != run.events.end()));
  BOOST_TEST(train->count == 7U);
  BOOST_TEST(train->subjects.at(0) == "client 0");
  const auto join =
      std::find_if(run.events.begin(), run.events.end(), [](const auto& kind) { return kind.event == "join"; });
  BOOST_REQUIRE((join != run.events.end()));
  BOOST_TEST(join->subjects.at(0) == "clients 25\u201330");
}

BOOST_AUTO_TEST_CASE(damage_is_told_by_its_path) {
  BOOST_TEST(problem_of("{}", "{\"round\":1,\"spans\":3}") == "metrics.jsonl:1: \"spans\" must be a list of objects");
  BOOST_TEST(problem_of("{}", "{\"round\":1,\"spans\":[7]}") == "metrics.jsonl:1: \"spans[0]\" must be an object");
  BOOST_TEST(problem_of("{}", "{\"round\":1,\"spans\":[{\"client\":1,\"started\":0,\"ended\":1}]}") ==
             "metrics.jsonl:1: has no \"spans[0].outcome\"");
  BOOST_TEST(problem_of("{}", "{\"round\":1,\"staleness\":[1,-1]}") ==
             "metrics.jsonl:1: \"staleness\" must be a list of whole numbers of 0 or more");
  BOOST_TEST(problem_of("{}", "{\"round\":1,\"ended\":\"noon\"}") == "metrics.jsonl:1: \"ended\" must be a number");
  BOOST_TEST(problem_of("{\"participation\":{\"gini\":\"low\"}}", "") ==
             "summary.json: \"participation.gini\" must be a number");
  BOOST_TEST(problem_of("{\"eval\":{\"seen\":{\"by_participation\":[{\"least\":0},{\"most\":-1}]}}}", "") ==
             "summary.json: \"eval.seen.by_participation[1].most\" must be a whole number of 0 or more");
}

BOOST_AUTO_TEST_CASE(a_round_that_was_given_up_may_be_tried_again) {
  BOOST_TEST(problem_of("{}", "{\"round\":1,\"gave_up\":true}\n{\"round\":1}\n{\"round\":2}\n") == "");
  BOOST_TEST(has(problem_of("{}", "{\"round\":1}\n{\"round\":1}\n"), "round 1 comes after round 1"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pages_in_time)

BOOST_AUTO_TEST_CASE(a_synchronous_run) {
  const auto data = data_of(golden_run("sparse"));
  BOOST_TEST(data["clock"] == "virtual time");
  BOOST_TEST(data["tracks"][0]["time"][0] == 480);  // seconds at the end of each round
  for (const auto* title :
       {"What became of the tasks, a round", "Eligible clients over the day", "RMSE by participation",
        "Accuracy by participation", "Round 1, task by task", "Round 3, task by task"})
    BOOST_TEST(!chart_of(data, title).is_null(), title);
  for (const auto* title : {"Clients a round", "Staleness of folded updates"})
    BOOST_TEST(chart_of(data, title).is_null(), title);
  const auto first = chart_of(data, "Round 1, task by task")["moments"];
  BOOST_TEST(first[0]["name"] == "the round ends");
  BOOST_TEST(first[0]["at"] == 480);
  BOOST_TEST(first[1]["at"] == 600);
  BOOST_TEST(chart_of(data, "Round 3, task by task")["moments"][0]["name"] == "deadline: the round ends");
}

BOOST_AUTO_TEST_CASE(its_tables) {
  const auto data = data_of(golden_run("sparse"));
  BOOST_TEST(row_of(data, "Accounting", "wasted: ended, not folded") == "32 | 44.4 %");
  BOOST_TEST(row_of(data, "Accounting", "train").starts_with("7 | "));
  BOOST_TEST(has(data.dump(), "Every selected client is accounted for."));
  BOOST_TEST(row_of(data, "Participation of clients", "Gini coefficient") == "0.4375");
  BOOST_TEST(row_of(data, "Participation of clients", "clients never trained") == "9 (29.0 %)");
  BOOST_TEST(card_of(data, "Virtual time to target").starts_with("6 h 10 min, unseen.rmse 0.9500"));
  BOOST_TEST(has(card_of(data, "Rounds"), "1 abandoned"));
  BOOST_TEST(row_of(data, "Private staleness", "virtual time").starts_with("3 h 30 min"));
  const auto bars = chart_of(data, "RMSE by participation")["bars"];  // the bar of the unseen is the last
  BOOST_TEST(bars.back()["label"] == "unseen");
  BOOST_TEST(bars.back()["values"][1] == 0.91);
  BOOST_TEST(bars.back()["more"][0] == "6");
}

BOOST_AUTO_TEST_CASE(an_asynchronous_run) {
  const auto data = data_of(golden_run("async"));
  const auto staleness = chart_of(data, "Staleness of folded updates");
  BOOST_REQUIRE(!staleness.is_null());
  BOOST_TEST(staleness["bars"][1]["values"][0] == 9);
  BOOST_TEST(staleness["bars"][1]["more"][0] == "37.5 %");
  BOOST_TEST(has(staleness["note"], "Mean 0.58, most 3 versions."));
  BOOST_TEST(has(data.dump(), "the round begins"));
  BOOST_TEST(card_of(data, "Target").starts_with("not reached"));
  BOOST_TEST(chart_of(data, "Eligible clients over the day").is_null());  // less than three hours
  BOOST_TEST(section_of(data, "Quality by participation").is_null());
  BOOST_TEST(row_of(data, "Private staleness", "rounds") == "no table");  // no client has private values
}

BOOST_AUTO_TEST_CASE(runs_without_virtual_time_have_none_of_it) {
  const auto data = data_of(golden_run("furl"));
  BOOST_TEST(!data["tracks"][0].contains("time"));
  const auto text = data["sections"].dump() + data["runs"].dump();
  for (const auto* absent : {"virtual time", "task by task", "Availability", "by participation", "Participation of",
                             "Target", "What became of the tasks", "Staleness of"})
    BOOST_TEST(!has(text, absent), absent);
}

// Its keys are those of a simulation, its seconds are not.
BOOST_AUTO_TEST_CASE(a_federation_has_no_virtual_time) {
  auto run = golden_run("sparse");
  run.summary->texts["clock"] = "real";
  const auto data = data_of(run);
  BOOST_TEST(data["clock"] == "time");
  BOOST_TEST(card_of(data, "Time to target").starts_with("6 h 10 min"));
  BOOST_TEST(chart_of(data, "Eligible clients over the day").is_null());
  for (const auto* absent : {"irtual time", "virtual 2", "virtual hour"}) BOOST_TEST(!has(data.dump(), absent), absent);
  BOOST_TEST(!has(comparison_table({&run, 1}), "virtual"));
}

BOOST_AUTO_TEST_CASE(a_slow_run_trains_more_than_no_clients_a_second) {
  auto run = golden_run("sparse");
  run.summary->figures["clients_per_second"] = 0.0625;
  BOOST_TEST(card_of(data_of(run), "Clients per second").starts_with("0.0625"));
  BOOST_TEST(has(comparison_table({&run, 1}), "0.0625"));
}

BOOST_AUTO_TEST_CASE(a_comparison_has_columns_that_any_run_has) {
  const std::vector<run_record> runs{golden_run("sparse"), golden_run("async"), golden_run("furl")};
  const auto text = comparison_table(over_seeds(runs));
  for (const auto* part : {"virtual time", "to target", "wasted", "Gini", "never trained", "6 h 10 min", "not reached",
                           "6 min 40 s", "44.4 %", "6.7 %*", "0.4375*"})
    BOOST_TEST(has(text, part), part);
  const auto data = data_of(runs);
  BOOST_TEST(data["tracks"][0].contains("time"));
  BOOST_TEST(!data["tracks"][2].contains("time"));
  BOOST_TEST(chart_of(data, "RMSE, unseen clients")["series"].size() == 3U);
  BOOST_TEST(!has(data["sections"].dump(), "task by task"));
  // Under the real clock a target is reached at no virtual time, which is not the shortest.
  auto real = runs;
  real[0].summary->figures["virtual_seconds"] = 0.0;
  real[0].summary->figures["time_to_target.virtual_seconds"] = 0.0;
  BOOST_TEST(!has(comparison_table(real), "0.00 s"));
  const std::vector<run_record> old{golden_run("furl"), golden_run("fedavg")};
  BOOST_TEST(!has(comparison_table(old), "Gini"));
}

BOOST_AUTO_TEST_CASE(whatever_a_task_says_is_text) {
  const std::string evil = "</title><script>x</script>";
  auto run = golden_run("sparse");
  for (auto& round : run.rounds)
    for (auto& task : round.spans) task.outcome = evil;
  run.summary->texts["time_to_target.metric"] = evil;
  const auto html = page(run);
  BOOST_TEST(count(html, "<script>") == 1U);  // the page's own
  BOOST_TEST(!has(html, evil));
}

BOOST_AUTO_TEST_CASE(equal_runs_give_equal_bytes_and_odd_figures_do_not_hurt) {
  BOOST_TEST(page(golden_run("sparse")) == page(golden_run("sparse")));
  auto run = golden_run("sparse");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  run.rounds[1].figures["ended"] = nan;
  run.rounds[2].figures["began"] = nan;
  run.summary->by_participation[1].figures["rmse"] = nan;
  run.summary->figures["eval.seen.rmse"] = nan;
  run.summary->figures["time_to_target.virtual_seconds"] = nan;
  const auto data = data_of(run);
  BOOST_TEST(!has(data["sections"].dump(), "nan"));
  BOOST_TEST(chart_of(data, "RMSE by participation")["bars"].size() == 4U);
  BOOST_TEST(!chart_of(data, "RMSE by participation").contains("base"));
}

BOOST_AUTO_TEST_SUITE_END()
