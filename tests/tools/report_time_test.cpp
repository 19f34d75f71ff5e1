// Reports of runs in virtual time: one in synchronous rounds with few and unreliable clients, one asynchronous.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <limits>
#include <unistd.h>

#include "tests/tools/reports.hpp"
#include "tools/report/report.hpp"

using namespace furlong;
using namespace furlong::tools;
namespace fs = std::filesystem;

namespace {

const fs::path golden = "tests/tools/report_runs";

run_record read(const std::string& name) {
  auto run = read_run(golden / name);
  if (!run) throw std::runtime_error(run.error().text());
  return *run;
}

std::string page(const run_record& run) { return report_html({&run, 1}); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

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
  const auto run = read("sparse");
  BOOST_REQUIRE(run.rounds.size() == 6U);
  const auto& third = run.rounds[2];
  BOOST_TEST(third.began.value() == 14400.0);
  BOOST_TEST(third.ended.value() == 15000.0);
  BOOST_TEST(third.late == 2U);
  BOOST_TEST(third.probed == 40U);
  BOOST_TEST(third.available == 14U);
  BOOST_REQUIRE(third.dropped.size() == 1U);
  BOOST_TEST(third.dropped[0].second == 2U);
  BOOST_REQUIRE(third.spans.size() == 12U);
  BOOST_TEST(third.spans[2].client == 1U);
  BOOST_TEST(third.spans[2].outcome == "dropped");
  BOOST_TEST(third.spans[2].ended == 14510.0);
  BOOST_TEST(run.rounds[3].gave_up);
  BOOST_TEST(run.deadline.value() == 600.0);
  const std::vector<std::uint64_t> staleness{2, 1, 0, 1};
  BOOST_TEST(read("async").rounds[3].staleness == staleness, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(summaries_tell_fairness_target_and_waste) {
  const auto of = read("sparse").summary.value();
  BOOST_TEST(of.wasted_share.value() == 32.0 / 72.0);
  BOOST_TEST(of.rounds_abandoned == 1U);
  BOOST_TEST(of.participation->gini.value() == 0.4375);
  BOOST_TEST(of.participation->clients.value() == 31U);
  BOOST_TEST(of.participation->never_folded.value() == 9U);
  BOOST_TEST(of.time_to_target->reached);
  BOOST_TEST(of.time_to_target->version.value() == 4U);
  BOOST_TEST(of.private_staleness_seconds->p90.value() == 28800.5);
  BOOST_REQUIRE(of.by_participation.size() == 4U);
  BOOST_TEST(of.by_participation[3].least == 3U);
  BOOST_TEST(of.by_participation[3].of.rmse.value() == 0.84);
  BOOST_TEST(of.by_participation[3].of.clients == 6U);
  BOOST_TEST(!read("async").summary->time_to_target->reached);
  BOOST_TEST(!read("furl").summary->participation);
  BOOST_TEST(!read("furl").deadline);
}

BOOST_AUTO_TEST_CASE(events_have_stages_and_ranges_but_no_times) {
  const auto run = read("sparse");
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
  const auto html = page(read("sparse"));
  BOOST_TEST(has(html, "<h2>Learning in virtual time</h2>"));
  BOOST_TEST(has(html, "RMSE by virtual time"));
  BOOST_TEST(has(html, "<figcaption>What became of the tasks, a round</figcaption>"));
  BOOST_TEST(!has(html, "<figcaption>Clients a round</figcaption>"));
  BOOST_TEST(has(html, "<figcaption>Availability over the day</figcaption>"));
  BOOST_TEST(has(html, "<figcaption>RMSE by participation</figcaption>"));
  BOOST_TEST(has(html, "<figcaption>Accuracy by participation</figcaption>"));
  BOOST_TEST(has(html, "Round 1, task by task"));
  BOOST_TEST(has(html, "the round ends, 8 min 00 s"));
  BOOST_TEST(has(html, "deadline, 10 min 00 s"));
  BOOST_TEST(has(html, "Round 3, task by task"));
  BOOST_TEST(has(html, "deadline: the round ends, 10 min 00 s"));
  BOOST_TEST(!has(html, "Staleness of folded updates"));
  BOOST_TEST(count(html, "<svg class=\"chart\"") == count(html, "<desc"));
  BOOST_TEST(count(html, "<summary>Values</summary>") == 6U);
}

BOOST_AUTO_TEST_CASE(its_tables) {
  const auto html = page(read("sparse"));
  BOOST_TEST(has(html,
                 "<th scope=\"row\">wasted: ended, not folded</th><td class=\"num\">32</td>"
                 "<td class=\"num\">44.44 %</td>"));
  BOOST_TEST(has(html, "<th scope=\"row\">train</th><td class=\"num\">7</td>"));
  BOOST_TEST(has(html, "Every selected client is accounted for."));
  BOOST_TEST(has(html, "<th scope=\"row\">Gini coefficient</th><td class=\"num\">0.4375</td>"));
  BOOST_TEST(has(html, "<th scope=\"row\">clients never trained</th><td class=\"num\">9 (29.03 %)</td>"));
  BOOST_TEST(has(html, "<dt>Virtual time to target</dt><dd><b>6 h 10 min</b>"));
  BOOST_TEST(has(html, "unseen.rmse 0.9500"));
  BOOST_TEST(has(html, "1 abandoned"));
  BOOST_TEST(has(html, "<th scope=\"row\">virtual time</th><td class=\"num\">3 h 30 min</td>"));
  // The bar of the unseen is the last.
  BOOST_TEST(has(html, "<th scope=\"row\">unseen</th><td class=\"num\">0.9100</td><td class=\"num\">6</td>"));
}

BOOST_AUTO_TEST_CASE(an_asynchronous_run) {
  const auto html = page(read("async"));
  BOOST_TEST(has(html, "<figcaption>Staleness of folded updates</figcaption>"));
  BOOST_TEST(has(html, "<th scope=\"row\">1</th><td class=\"num\">9</td><td class=\"num\">37.50 %</td>"));
  BOOST_TEST(has(html, "Mean 0.58, most 3 versions."));
  BOOST_TEST(has(html, "the round begins"));
  BOOST_TEST(has(html, "<dt>Target</dt><dd><b>not reached</b>"));
  BOOST_TEST(!has(html, "Availability over the day"));  // less than three hours
  BOOST_TEST(!has(html, "by participation"));
  BOOST_TEST(!has(html, "Private staleness"));  // no client has private values
}

BOOST_AUTO_TEST_CASE(runs_without_virtual_time_have_none_of_it) {
  const auto html = page(read("furl"));
  for (const auto* absent : {"virtual time", "task by task", "Availability", "by participation", "Participation of",
                             "Target", "What became of the tasks", "Staleness of"})
    BOOST_TEST(!has(html, absent), absent);
}

// Its keys are those of a simulation, its seconds are not.
BOOST_AUTO_TEST_CASE(a_federation_has_no_virtual_time) {
  auto run = read("sparse");
  run.summary->clock = "real";
  const auto html = page(run);
  BOOST_TEST(has(html, "<h2>Learning over time</h2>"));
  BOOST_TEST(has(html, "RMSE by time"));
  BOOST_TEST(has(html, "<dt>Time to target</dt><dd><b>6 h 10 min</b>"));
  BOOST_TEST(!has(html, "Availability over the day"));
  for (const auto* absent : {"irtual time", "virtual 2", "virtual hour"}) BOOST_TEST(!has(html, absent), absent);
  BOOST_TEST(!has(comparison_table({&run, 1}), "virtual"));
}

BOOST_AUTO_TEST_CASE(a_slow_run_trains_more_than_no_clients_a_second) {
  auto run = read("sparse");
  run.summary->clients_per_second = 0.0625;
  BOOST_TEST(has(page(run), "<dt>Clients per second</dt><dd><b>0.0625</b>"));
  BOOST_TEST(has(comparison_table({&run, 1}), "0.0625"));
}

BOOST_AUTO_TEST_CASE(a_comparison_has_columns_that_any_run_has) {
  const std::vector<run_record> runs{read("sparse"), read("async"), read("furl")};
  const auto text = comparison_table(tests::over_seeds(runs));
  for (const auto* part : {"virtual time", "to target", "wasted", "Gini", "never trained", "6 h 10 min", "not reached",
                           "6 min 40 s", "44.44 %", "6.67 %*", "0.4375*"})
    BOOST_TEST(has(text, part), part);
  const auto html = report_html(runs);
  BOOST_TEST(has(html, "RMSE, unseen clients by virtual time"));
  BOOST_TEST(has(html, "data-name=\"fedavg"));
  BOOST_TEST(!has(html, "task by task"));
  // Under the real clock a target is reached at no virtual time, which is not the shortest.
  auto real = runs;
  real[0].summary->virtual_seconds = 0.0;
  real[0].summary->time_to_target->virtual_seconds = 0.0;
  BOOST_TEST(!has(comparison_table(real), "0.00 s"));
  const std::vector<run_record> old{read("furl"), read("fedavg")};
  BOOST_TEST(!has(comparison_table(old), "Gini"));
}

BOOST_AUTO_TEST_CASE(whatever_a_task_says_is_text) {
  const std::string evil = "</title><script>x</script>";
  auto run = read("sparse");
  for (auto& round : run.rounds)
    for (auto& task : round.spans) task.outcome = evil;
  run.summary->time_to_target->metric = evil;
  const auto html = page(run);
  BOOST_TEST(count(html, "<script>") == 1U);
  BOOST_TEST(!has(html, evil));
}

BOOST_AUTO_TEST_CASE(equal_runs_give_equal_bytes_and_odd_figures_do_not_hurt) {
  BOOST_TEST(page(read("sparse")) == page(read("sparse")));
  auto run = read("sparse");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  run.rounds[1].ended = nan;
  run.rounds[2].began = nan;
  run.summary->by_participation[1].of.rmse = nan;
  (*run.summary->eval)[1]->rmse = nan;
  run.summary->time_to_target->virtual_seconds = nan;
  const auto html = page(run);
  BOOST_TEST(!has(html, "=\"NaN"));
  BOOST_TEST(!has(html, "nan\""));
  BOOST_TEST(has(html, "<figcaption>RMSE by participation</figcaption>"));
}

BOOST_AUTO_TEST_SUITE_END()
