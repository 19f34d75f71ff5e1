#include "tools/report/report.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>
#include <vector>

#include "tests/tools/reports.hpp"

using namespace furlong;
using namespace furlong::tests;
using namespace furlong::tools;
using namespace std::string_literals;

namespace {

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}
}  // namespace

BOOST_AUTO_TEST_SUITE(reading)

BOOST_AUTO_TEST_CASE(a_whole_run) {
  const auto run = read(golden / "furl");
  BOOST_TEST(run.name == "films");
  BOOST_TEST(run.algorithm == "furl");
  BOOST_TEST(run.seed == "7");
  BOOST_TEST(run.notes.empty());
  BOOST_REQUIRE(run.summary.has_value());
  BOOST_TEST(run.summary->count("folded") == 36U);
  const auto rejected = run.summary->counts_in("rejected.");
  BOOST_REQUIRE(rejected.size() == 2U);
  BOOST_TEST(rejected[1].first == "norm-bound");
  BOOST_TEST(rejected[1].second == 3U);
  BOOST_TEST(run.summary->figure("private_staleness.p90").value() == 3.0);
  BOOST_TEST(run.summary->figure("eval.unseen.rmse").value() == 0.8779);
  BOOST_TEST(!run.summary->figure("eval.unseen.auc"));
  BOOST_REQUIRE(run.rounds.size() == 4U);
  BOOST_TEST(!run.rounds[0].has_any("eval."));
  BOOST_TEST(run.rounds[1].count("eval.seen.clients") == 31U);
  BOOST_TEST(std::isnan(run.rounds[2].figure("loss").value()));  // null
  BOOST_TEST(run.rounds[3].count("bytes_down") == 5000000U);
}

BOOST_AUTO_TEST_CASE(events_are_counted_by_kind) {
  const auto run = read(golden / "furl");
  BOOST_REQUIRE(run.events.size() == 3U);
  BOOST_TEST(run.events[0].reason == "norm-bound");
  BOOST_TEST(run.events[0].count == 3U);
  BOOST_TEST(run.events[0].first_round.value() == 2U);
  BOOST_TEST(run.events[0].last_round.value() == 3U);
  const std::vector<std::string> who{"client 17", "client 9"};
  BOOST_TEST(run.events[0].subjects == who, boost::test_tools::per_element());
  BOOST_TEST(run.events[2].event == "moonrise");
  BOOST_TEST(run.events[2].subjects.at(0) == "phase full");
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_is_named_by_its_scenario) {
  const scratch run;
  run.write("metrics.jsonl", "{\"round\":1,\"loss\":2}\n{\"round\":2,\"lo");
  run.write("events.jsonl", "{\"event\":\"joined\"}\n{\"ev");
  run.write("scenario.toml",
            "[data]\nname = \"no\"\n[scenario]\nname = \"cut\"  \nseed = 3\n[algorithm]\nkind=\"furl\"\n");
  const auto found = read(run.at);
  BOOST_TEST(found.name == "cut");
  BOOST_TEST(found.seed == "3");
  BOOST_TEST(found.algorithm == "furl");
  BOOST_TEST(found.rounds.size() == 1U);
  BOOST_TEST(found.events.size() == 1U);
  BOOST_TEST(found.notes.size() == 3U);  // no summary, and two lines cut off
  BOOST_TEST(has(page(found), "interrupted"));
  BOOST_TEST(has(page(found), "The last line of metrics.jsonl was cut off"));
}

BOOST_AUTO_TEST_CASE(without_any_name_the_folder_gives_it) {
  const scratch run;
  run.write("metrics.jsonl", "");
  BOOST_TEST(read(run.at / "").name == run.at.filename().string());
}

BOOST_AUTO_TEST_CASE(damage_is_told_with_file_and_line) {
  const scratch run;
  const auto metrics = (run.at / "metrics.jsonl").string();
  BOOST_TEST(has(run.problem(), run.at.string() + ": holds neither summary.json nor metrics.jsonl"));
  run.write("metrics.jsonl", "{\"round\":1}\n\n{\"round\":2,}\n{\"round\":3}\n");
  BOOST_TEST(has(run.problem(), metrics + ":3: is not valid JSON at byte 12"));
  run.write("metrics.jsonl", "{\"round\":1}\n[]\n");
  BOOST_TEST(run.problem() == metrics + ":2: is no JSON object");
  run.write("metrics.jsonl", "{\"loss\":1}\n");
  BOOST_TEST(run.problem() == metrics + ":1: has no \"round\"");
  run.write("metrics.jsonl", "{\"round\":1,\"folded\":-2}\n");
  BOOST_TEST(run.problem() == metrics + ":1: \"folded\" must be a whole number of 0 or more");
  run.write("metrics.jsonl", "{\"round\":1,\"eval\":{\"seen\":{\"rmse\":\"low\"}}}\n");
  BOOST_TEST(run.problem() == metrics + ":1: \"eval.seen.rmse\" must be a number");
  run.write("metrics.jsonl", "{\"round\":1,\"eval\":3}\n");
  BOOST_TEST(run.problem() == metrics + ":1: \"eval\" must be an object");
  run.write("metrics.jsonl", "{\"round\":2}\n{\"round\":2}\n");
  BOOST_TEST(has(run.problem(), metrics + ":2: round 2 comes after round 2"));
  run.write("metrics.jsonl", "{\"round\":1}\n");
  run.write("events.jsonl", "{\"round\":1}\n");
  BOOST_TEST(run.problem() == (run.at / "events.jsonl").string() + ":1: has no \"event\"");
}

BOOST_AUTO_TEST_CASE(a_finished_run_has_no_excuse_for_a_cut_line) {
  const scratch run;
  run.write("summary.json", "{}");
  run.write("metrics.jsonl", "{\"round\":1}\n{\"rou");
  BOOST_TEST(has(run.problem(), "metrics.jsonl:2: is not valid JSON"));
  run.write("metrics.jsonl", "{\"round\":1}");  // whole, only its end is missing
  BOOST_TEST(run.problem() == "");
  run.write("summary.json", "{\"rejected\": {\"late\": 0.5}}");
  BOOST_TEST(has(run.problem(), "summary.json: \"rejected.late\" must be a whole number"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(table)

// A mark needs an interval, and another one that has the figure.
BOOST_AUTO_TEST_CASE(compares_configurations_and_marks_the_best) {
  const std::string expected = R"(
                             ----------- validation ------------  ------------- seen --------------  ------------- unseen --------------  data per report  data per task  --- clients ----
configuration  runs  rounds              RMSE              acc.               RMSE             acc.              RMSE              acc.               up            down   per s   private
-------------  ----  ------  -----------------  ----------------  ----------------  ---------------  -----------------  ----------------  ---------------  -------------  -------  -------
furl           3          4  0.8801 +- 0.0010*  44.00 +- 0.10 %*  0.8612 +- 0.0010  44.83 +- 0.10 %  0.8779 +- 0.0010*  44.13 +- 0.10 %*          100 kB*         500 kB  12,346        31
fedavg         3          4  0.9457 +- 0.0010   41.28 +- 0.10 %        -                -            0.9498 +- 0.0010   41.11 +- 0.10 %           200 kB          500 kB  23,457*        0
* best: the 95 % interval of its difference to each other configuration, within a seed, excludes zero.
)";
  BOOST_TEST("\n" + comparison_table(over_seeds(both())) == expected);
  const auto single = comparison_table(both());
  BOOST_TEST(!has(single, "*"));
  BOOST_TEST(has(single, "Nothing is marked as best: with one shared seed a difference has no interval"));
  BOOST_TEST(!has(comparison_table({both().data(), 1}), "marked"));
}

// Means that lie apart by less than the seeds do.
BOOST_AUTO_TEST_CASE(what_the_seeds_explain_is_not_marked) {
  auto runs = over_seeds({both()[0], both()[0]});
  for (std::size_t i = 0; i < 3; ++i) {
    runs[i].name = "other";
    runs[i].summary->figures["eval.unseen.rmse"] -= 0.01 * static_cast<double>(i);
    runs[i].summary->figures["eval.validation.rmse"] -= 0.01;
  }
  const auto text = comparison_table(runs);
  BOOST_TEST(count(text, "*") == 2U, text);  // of the validation, and of the note
  BOOST_TEST(has(text, "0.8701 +- 0.0010*"), text);
}

// What is not of every run says of how many it is, and failed runs are beside.
BOOST_AUTO_TEST_CASE(runs_without_a_figure_and_failed_ones_are_told) {
  auto runs = over_seeds({both()[0]});
  forget(*runs[0].summary, "eval.seen.");
  runs[1].summary->figures["eval.unseen.rmse"] = std::nan("");
  auto failed = runs[2];
  failed.seed = "4";
  failed.directory = "runs/fourth";
  failed.summary->texts["failed"] = "training diverged: the loss is not finite";
  runs.push_back(failed);
  const auto text = comparison_table(runs);
  BOOST_TEST(has(text, "3 of 4, 1 diverged"), text);
  BOOST_TEST(has(text, "0.8617 +- 0.0007 (2 of 3)"), text);
  BOOST_TEST(has(text, "0.8779 +- 0.0014 (2 of 3)"), text);
  BOOST_TEST(has(text, "run \"fourth\": training diverged, the loss is not finite."), text);
  for (const auto* name : {"5", "6", "7", "8", "9", "10", "11", "12"}) {
    failed.seed = name;
    failed.directory = std::string("runs/") + name;
    runs.push_back(failed);
  }
  const auto many = comparison_table(runs);  // a reason is written once, and not all of its runs are named
  BOOST_TEST(has(many, "run \"11\": training diverged, the loss is not finite."), many);
  BOOST_TEST(has(many, "Not counted either: 1 run."), many);
}

BOOST_AUTO_TEST_CASE(columns_line_up) {
  const auto text = comparison_table(over_seeds(both()));
  std::istringstream lines(text);
  std::string line;
  std::vector<std::string> all;
  while (std::getline(lines, line)) all.push_back(line);
  BOOST_REQUIRE(all.size() == 6U);
  // Where the rule has a gap, so has every row below it.
  for (std::size_t at = 0; at + 1 < all[2].size(); ++at) {
    if (all[2].substr(at, 2) != "  ") continue;
    for (const std::size_t row : {1U, 3U, 4U})
      if (at + 1 < all[row].size()) BOOST_TEST(all[row].substr(at, 2) == "  ");
  }
}

BOOST_AUTO_TEST_CASE(names_tell_runs_apart_and_cannot_steer_the_terminal) {
  auto runs = both();
  runs[0].name = "a\x1b[2Jb";
  BOOST_TEST(has(comparison_table(runs), "a?[2Jb"));
  runs[0].name = runs[1].name;
  runs[0].algorithm = runs[1].algorithm;
  runs[0].scenario = runs[1].scenario;
  BOOST_TEST(has(comparison_table(runs), "films (furl)"));  // the folder
  runs[0].directory = runs[1].directory;
  BOOST_TEST(has(comparison_table(runs), "#2"));
  BOOST_TEST(comparison_table({}) == "");
}

// Nothing is sent in a centralized run: that is no merit beside the others.
BOOST_AUTO_TEST_CASE(bytes_that_were_never_sent_are_not_the_best) {
  auto runs = both();
  runs.push_back(runs[1]);
  runs[2].name = "in one place";
  runs[2].summary->figures["bytes_up"] = runs[2].summary->figures["bytes_down"] = 0;
  runs = over_seeds(runs);
  const auto text = comparison_table(runs);
  BOOST_TEST(has(text, "100 kB*"));
  BOOST_TEST(!has(text, " 0 B*"));
  BOOST_TEST(has(main_table(data_of(runs)), " | \u2013  | \u2013  | "));
}

// Who drops out was sent a model and sent nothing back. A run that was interrupted shows what it shows when it has
// ended.
BOOST_AUTO_TEST_CASE(models_are_counted_by_task_and_updates_by_report) {
  const scratch run;
  run.write("summary.json",
            R"({"rounds":1,"selected":100,"clients_trained":50,"folded":20,"rejected":{"norm-bound":3},"late":2,)"
            R"("surplus":1,"dropped":{"upload":50},"abandoned":24,"bytes_up":25000000,"bytes_down":100000000})");
  run.write("metrics.jsonl",
            R"({"round":1,"selected":60,"folded":20,"rejected":3,"late":2,"surplus":1,"dropped":{"upload":34},)"
            R"("abandoned":0,"gave_up":false,"bytes_up":13000000,"bytes_down":60000000})"
            "\n"
            R"({"round":2,"selected":40,"folded":0,"rejected":0,"late":0,"surplus":0,"dropped":{"upload":16},)"
            R"("abandoned":24,"gave_up":true,"bytes_up":12000000,"bytes_down":40000000})"
            "\n");
  for (const bool ended : {true, false}) {
    if (!ended) fs::remove(run.at / "summary.json");
    const auto record = read(run.at);
    BOOST_TEST(record.summary.has_value() == ended);
    if (ended) BOOST_TEST(has(comparison_table({&record, 1}), "data per report  data per task"));
    if (ended) BOOST_TEST(has(comparison_table({&record, 1}), "500 kB        1.00 MB"), comparison_table({&record, 1}));
    if (!ended) BOOST_TEST(has(comparison_table({&record, 1}), "0 of 1, 1 not ended"));
    const auto data = data_of(record);
    BOOST_TEST(has(card_of(data, "Rounds"), "100 client tasks"));
    BOOST_TEST(has(card_of(data, "Data down"), "1.00 MB a client task"));
    BOOST_TEST(has(card_of(data, "Data up"), "500 kB a report"));
  }
}

BOOST_AUTO_TEST_CASE(classes_have_an_auc_and_a_loss) {
  const scratch run;
  run.write(
      "summary.json",
      "{\"algorithm\":\"fedavg\",\"eval\":{\"unseen\":{\"accuracy\":0.75,\"auc\":0.9,\"loss\":0.5,\"clients\":1}}}");
  const auto record = read(run.at);
  const auto text = comparison_table({&record, 1});
  BOOST_TEST(has(text, "0.9000  0.5000"));
  BOOST_TEST(!has(text, "RMSE"));
  BOOST_TEST(!has(text, "*"));  // nothing to be better than
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pages)

BOOST_AUTO_TEST_CASE(one_run) {
  const auto run = read(golden / "furl");
  const auto html = page(run);
  const auto data = data_of(run);
  BOOST_TEST(has(html, "<h1>films</h1>"));
  BOOST_TEST(has(main_table(data), " | unseen | 0.8779 | "));
  BOOST_TEST(has(html, "<noscript>"));
  BOOST_TEST(has(html, comparison_table({&run, 1}).substr(0, 60)));
  BOOST_TEST(charts_of(data).size() == 7U);
  BOOST_TEST(card_of(data, "RMSE, unseen") == "0.8779, accuracy 44.13 %");
  BOOST_TEST(has(card_of(data, "Time"), "1 min 15 s"));
  BOOST_TEST(has(card_of(data, "Data down"), "20.0 MB"));
  BOOST_TEST(row_of(data, "Rejections", "norm-bound") == "3 | 75.0 % | 2 \u2013 3");
  BOOST_TEST(has(html, "Every selected client is accounted for."));
  BOOST_TEST(row_of(data, "Events", "moonrise") != "no row");
  BOOST_TEST(has(data["runs"][0]["hashes"].dump(), "\"313484d5f0d26a38"));
  BOOST_TEST(has(data["runs"][0]["scenario"], "kind = \"furl\""));
  BOOST_TEST(row_of(data, "Private staleness", "rounds") != "no table");
}

BOOST_AUTO_TEST_CASE(accounts_that_do_not_add_up_are_told) {
  auto run = read(golden / "furl");
  run.summary->figures["selected"] = 41;
  BOOST_TEST(has(page(run), "do not add up to the selected: 1 client missing."));
}

BOOST_AUTO_TEST_CASE(a_divergence_is_told_and_never_best) {
  auto runs = both();
  runs[0].rounds[2].figures["loss"] = 1.0;
  BOOST_TEST(!has(page(runs[0]), "diverged"));
  for (figure_set* of : std::initializer_list<figure_set*>{&*runs[0].summary, &runs[0].rounds[3]})
    of->figures["eval.unseen.rmse"] = std::nan("");
  runs[0].rounds[2].figures["applied"] = 0;
  const auto html = page(runs[0]);
  BOOST_TEST(has(html, "Training diverged: from round 4 on, metrics are not finite."));
  BOOST_TEST(has(html, "stayed as it was in 1 round:"));
  const auto data = data_of(runs[0]);
  BOOST_TEST(has(card_of(data, "RMSE, unseen"), "NaN"));
  const auto loss = chart_of(data, "Training loss")["series"][0];  // without that of the idle round
  BOOST_TEST(loss["at"] == (page_json{0, 1, 3}));
  BOOST_TEST(loss["y"][0] == 1.5);
  BOOST_TEST(loss["y"][2] == 0.75);
  for (const auto* not_best : {"NaN*", "0.9498*"}) BOOST_TEST(!has(comparison_table(over_seeds(runs)), not_best));
}

BOOST_AUTO_TEST_CASE(several_runs) {
  const auto seeds = data_of(over_seeds(both()));
  BOOST_TEST(has(main_table(seeds), " | 0.8779 \u00B10.0010* | "));
  BOOST_TEST(has(seeds["main"]["notes"].dump(), "\u00B1 the standard deviation"));
  const auto html = report_html(both());
  BOOST_TEST(has(html, "<h1>films, 2 runs</h1>"));
  const auto data = data_of(both());
  BOOST_TEST(!has(data["main"]["notes"].dump(), "standard deviation"));
  BOOST_TEST(
      has(data["main"]["notes"].dump(), "The same in all configurations: rounds 4; data per task: down 500 kB."));
  BOOST_TEST(data["runs"].size() == 2U);
  BOOST_TEST(!series_of(chart_of(data, "Training loss"), "fedavg").is_null());
  BOOST_TEST(!has(html, "e3b0c44298fc"));  // the hash of no private state
}

BOOST_AUTO_TEST_CASE(asks_nothing_of_a_network) {
  for (const auto& html : {report_html(both()), page(read(golden / "furl"))}) {
    BOOST_TEST(has(html, "content=\"default-src 'none'; style-src 'sha256-"));
    for (const auto* reference : {" src=", " href=", "@import", "unsafe-"})
      BOOST_TEST(!has(html, reference), reference);
  }
}

BOOST_AUTO_TEST_CASE(whatever_a_file_says_is_text) {
  const std::string evil = "</script><script>\"&'</script><!--{{title}}";
  auto runs = both();
  for (auto& run : runs) {
    run.name = run.algorithm = run.model = run.seed = run.scenario = evil;
    run.notes = {evil};
    for (const auto* key : {"furlong", "kernel_level", "model_sha256", "private_sha256"})
      run.summary->texts[key] = evil;
    for (const auto& key : {"private_clients"s, "rejected." + evil, "rejected.x"s, "dropped." + evil, "dropped.y"s})
      run.summary->figures[key] = 1;
    run.events = {{evil, evil, 1, 1, 1, {evil}}};
  }
  runs[1].name += "2";
  for (const auto& html : {report_html(runs), page(runs[0])}) {
    BOOST_TEST(count(html, "<script") == 2U);  // the page's data and script
    BOOST_TEST(count(html, "</script>") == 2U);
    BOOST_TEST(!has(html, "<!--"));
    BOOST_TEST(has(html, "<h1>"));
    BOOST_TEST(has(html, "&lt;/script&gt;&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;"));
    BOOST_TEST(has(html, "{{title}}"));
  }
  BOOST_TEST(data_of(runs[0])["runs"][0]["scenario"] == evil);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_do_not_stop_the_report) {
  auto run = read(golden / "furl");
  run.scenario = "name = \"\xff\xfe\"";
  BOOST_TEST(has(page(run), "name = \\\"\uFFFD"));
}

BOOST_AUTO_TEST_CASE(runs_with_little_to_tell) {
  auto run = read(golden / "furl");
  forget(*run.summary, "eval.");
  for (auto& round : run.rounds) forget(round, "eval.");
  BOOST_TEST(data_of(run)["main"].is_null());  // no evaluation
  BOOST_TEST(!chart_of(data_of(run), "Training loss").is_null());
  run.rounds.resize(1);
  BOOST_TEST(has(page(run), "1 round: there are no curves to draw."));
  BOOST_TEST(charts_of(data_of(run)).empty());
  run.rounds.clear();
  run.summary = run_summary{};
  BOOST_TEST(has(page(run), "0 rounds: there are no curves to draw."));
  BOOST_TEST(!has(data_of(run).dump(), "NaN"));
  const std::vector<run_record> beside{run, read(golden / "fedavg")};
  BOOST_TEST(!charts_of(data_of(beside)).empty());
  BOOST_TEST(comparison_table(beside).find("furl") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_file_appears_whole_and_equal_runs_give_equal_bytes) {
  const scratch to;
  const auto runs = both();
  to.write("report.html", "old");
  BOOST_TEST(write_report(runs, to.at / "report.html").has_value());
  BOOST_TEST(write_report(runs, to.at / "again.html").has_value());
  BOOST_TEST(contents(to.at / "report.html") == report_html(runs));
  BOOST_TEST(contents(to.at / "report.html") == contents(to.at / "again.html"));
  BOOST_TEST(std::distance(fs::directory_iterator(to.at), {}) == 2);  // no draft is left

  const auto nowhere = write_report(runs, to.at / "missing" / "report.html");
  BOOST_REQUIRE(!nowhere);
  BOOST_TEST(has(nowhere.error().text(), "missing/report.html: cannot be written: No such file or directory"));
  fs::create_directories(to.at / "taken" / "inside");
  BOOST_TEST(!write_report(runs, to.at / "taken"));  // a folder that is not empty
  BOOST_TEST(std::distance(fs::directory_iterator(to.at), {}) == 3);
  BOOST_TEST((write_report({}, to.at / "none.html").error().what == error::kind::usage));
}

BOOST_AUTO_TEST_SUITE_END()
