// furlong tune: what it finds, trains and leaves, and that it never looks at a test part.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_tune)

using namespace furlong::tests;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr auto metric = "eval.validation.rmse";

std::vector<std::string> tune(const std::filesystem::path& scenario, const std::filesystem::path& out,
                              const std::vector<std::string>& more) {
  std::vector<std::string> words = {"tune", scenario.string(), "--out", out.string(), "--metric", metric};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json tuned(const std::filesystem::path& out) { return json::parse(read_file(out / "tune.json")); }

std::vector<json> lines_of(const std::filesystem::path& file) {
  std::vector<json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

const std::vector<std::string> six = {
    "--grid", "algorithm.client.lr=0.0001,0.02,0.05,0.1,0.2,1e30", "--seeds", "1,2", "--factor", "2"};

}  // namespace

BOOST_AUTO_TEST_CASE(survivors_go_on_and_end_like_whole_runs) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 24);
  const auto out = folder / "tune";
  const auto done = run_furlong(folder, tune(scenario, out, six));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.out << done.err);
  const auto table = tuned(out);
  const auto& rungs = table["plan"]["rungs"];
  BOOST_REQUIRE(rungs.size() == 3U);
  BOOST_TEST(rungs[2]["rounds"] == 24);

  // Every round of every run was trained once, and evaluated for the validation clients alone.
  std::uint64_t trained = 0;
  std::map<std::uint64_t, std::size_t> ended;  // settings by the round after which they stopped
  for (const auto& setting : table["settings"]) {
    for (const auto& run : setting["runs"]) {
      const auto lines = lines_of(out / run["run"].get<std::string>() / "metrics.jsonl");
      for (std::size_t i = 0; i < lines.size(); ++i) {
        BOOST_TEST(lines[i]["round"] == i + 1);
        if (lines[i].contains("eval"))
          for (const auto& [group, figures] : lines[i]["eval"].items()) BOOST_TEST(group == "validation");
      }
      for (const auto& figure : run["figures"])
        if (!figure["value"].is_null())
          BOOST_TEST(figure["value"] == lines[figure["rounds"].get<std::size_t>() - 1]["eval"]["validation"]["rmse"]);
      const auto diverged = run["figures"].back()["value"].is_null();
      if (!diverged) BOOST_TEST(lines.size() == setting["rounds"]);
      trained += run["figures"].back()["rounds"].get<std::uint64_t>();
    }
    ++ended[setting["rounds"]];
  }
  BOOST_TEST(ended[rungs[0]["rounds"]] == 3U);
  BOOST_TEST(ended[rungs[1]["rounds"]] == 1U);
  BOOST_TEST(ended[24] == 2U);
  BOOST_TEST(table["rounds_trained"] == trained);
  BOOST_TEST(table["settings"].back()["rank"] == 6);  // it diverged

  // The best setting as a scenario: its run is the one that was tuned, and this one reads the test parts.
  const auto best = folder / "best";
  BOOST_REQUIRE(run_furlong(folder, {"run", (out / "best.toml").string(), "--out", best.string()}).code == 0);
  const auto whole = summary_of(best);
  const auto winner = "small-lr=" + table["best"]["grid"]["algorithm.client.lr"].dump() + "-seed=1";
  BOOST_TEST(summary_of(out / winner)["model_sha256"] == whole["model_sha256"]);
  BOOST_TEST(summary_of(out / winner)["eval"]["validation"] == whole["eval"]["validation"]);
  BOOST_TEST(whole["eval"].contains("seen"));
  BOOST_TEST(whole["eval"].contains("unseen"));
  BOOST_TEST(!summary_of(out / winner)["eval"].contains("seen"));
  BOOST_TEST(std::filesystem::exists(out / "report.html"));

  // Nothing is left to do.
  const auto again = run_furlong(folder, tune(scenario, out, six));
  BOOST_TEST(again.code == 0, again.err);
  BOOST_TEST(again.out == done.out);
  BOOST_TEST(!has(again.err, " s)"), again.err);
  BOOST_TEST(tuned(out) == table);
  auto other = six;
  other.back() = "3";
  const auto mixed = run_furlong(folder, tune(scenario, out, other));
  BOOST_TEST(mixed.code == 2);
  BOOST_TEST(has(mixed.err, "is of another tuning: its \"plan\" differs"), mixed.err);
}

BOOST_AUTO_TEST_CASE(with_the_best_model_a_figure_is_of_the_model_that_the_run_would_end_with) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg", 24);
  const auto out = folder / "tune";
  const auto done = run_furlong(folder, tune(scenario, out,
                                             {"--grid", "algorithm.client.lr=0.4,0.5,0.6,0.7", "--factor", "2", "--set",
                                              "evaluation.select=best", "--set", "evaluation.every=7"}));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.out << done.err);
  std::size_t compared = 0;
  const auto table = tuned(out);
  for (const auto& setting : table["settings"])
    for (const auto& run : setting["runs"]) {
      const auto lines = lines_of(out / run["run"].get<std::string>() / "metrics.jsonl");
      for (const auto& figure : run["figures"]) {
        if (figure["value"].is_null()) continue;
        const auto rounds = figure["rounds"].get<std::size_t>();
        double least = INFINITY;
        for (std::size_t round = 1; round <= rounds; ++round)
          if (round % 7 == 0 || round == rounds)
            least = std::min(least, lines[round - 1]["eval"]["validation"]["rmse"].get<double>());
        BOOST_TEST(figure["value"] == least);
        ++compared;
      }
      if (setting["rounds"] == 24)
        BOOST_TEST(run["figures"].back()["value"] ==
                   summary_of(out / run["run"].get<std::string>())["eval"]["validation"]["rmse"]);
    }
  BOOST_TEST(compared >= 6U);
}

BOOST_AUTO_TEST_CASE(a_stopped_tuning_goes_on_and_ends_like_one_that_was_not) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 300);
  const std::vector<std::string> words = {"--grid", "algorithm.client.lr=0.02,0.05,0.1", "--jobs", "1", "--factor",
                                          "2"};
  const auto out = folder / "stopped";
  furlong_process process(folder, tune(scenario, out, words));
  const auto begun = [&] { return has(process.err(), "seed=1 round "); };  // a run of the first rung has ended
  for (int i = 0; i < 60000 && !begun(); ++i) ::usleep(1000);
  process.send(SIGTERM);
  BOOST_TEST(process.wait() == 5);
  BOOST_TEST(!tuned(out).contains("best"));
  const auto second = run_furlong(folder, tune(scenario, out, words));
  BOOST_REQUIRE_MESSAGE(second.code == 0, second.err);
  const auto whole = folder / "whole";
  BOOST_REQUIRE(run_furlong(folder, tune(scenario, whole, words)).code == 0);
  BOOST_TEST(tuned(out) == tuned(whole));
}

// With other test parts a tuning is the same in every figure, and runs of what it chose are not: so it read none.
BOOST_AUTO_TEST_CASE(test_parts_are_not_read) {
  const scratch_folder folder;
  const auto user = [](const std::string& name, const std::vector<std::string>& texts) {
    return std::pair(name, json{{"x", texts}, {"y", std::vector<std::string>(texts.size(), "a")}});
  };
  const auto write = [&](const std::string& part, const std::map<std::string, json>& users) {
    json file = {{"users", json::array()}, {"user_data", users}};
    for (const auto& [name, data] : users) file["users"].push_back(name);
    std::filesystem::create_directories((folder / "leaf") / part);
    std::ofstream((folder / "leaf") / part / "a.json") << file;
  };
  write("train", {user("u", {"abcabc", "bcabca", "cabcab", "abc"}), user("v", {"acbacb", "cbacba", "bacbac", "acb"})});
  const auto scenario = folder / "leaf.toml";
  std::ofstream(scenario)
      << "[scenario]\nname = \"leaf\"\nrounds = 4\n[data]\nsource = \"leaf\"\npath = \"" << (folder / "leaf").string()
      << "\"\nsplit = [0.5, 0.5, 0]\nvocabulary = 5\n[model]\nkind = \"gru-lm\"\nembedding = 4\nhidden = 4\n"
         "[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 2\n"
         "[evaluation]\nevery = 1\nbatch_size = 1\n";
  const auto tune_and_run = [&](const std::string& name) {
    const auto out = folder / name;
    const auto done = run_furlong(folder, {"tune", scenario.string(), "--out", out.string(), "--metric",
                                           "eval.validation.perplexity", "--grid", "algorithm.client.lr=0.1,0.5,1"});
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    const auto run = folder / (name + "-best");
    const auto best = run_furlong(folder, {"run", (out / "best.toml").string(), "--out", run.string()});
    BOOST_REQUIRE_MESSAGE(best.code == 0, best.err);
    return std::pair(tuned(out), summary_of(run)["eval"]);
  };
  write("test", {user("u", {"abcabcabc", "bcabcabca"}), user("w", {"abcabc", "bcabca", "cabcab", "abcabc"})});
  const auto [table, eval] = tune_and_run("clean");
  write("test", {user("u", {"ccccccccc", "aaaaaaaaa"}), user("w", {"qqqqqq", "zzzzzz", "qzqzqz", "zqzqzq"})});
  const auto [same, other] = tune_and_run("poisoned");
  BOOST_TEST(table == same);
  BOOST_TEST(eval["validation"] == other["validation"]);
  BOOST_TEST(eval["seen"]["perplexity"] != other["seen"]["perplexity"]);
  BOOST_TEST(eval["unseen"]["perplexity"] != other["unseen"]["perplexity"]);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_tuned_is_refused_before_anything_runs) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 5);
  const auto out = folder / "tune";
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "there is nothing to choose from"},
           {{"--grid", "scenario.rounds=5,10"}, "is not a setting to choose"},
           {{"--range", "algorithm.client.lr=1..0"}, "is empty"},
           {{"--grid", "algorithm.client.lr=0.1,0.2", "--metric", "eval.unseen.rmse"}, "no figure of the validation"},
           {{"--grid", "algorithm.client.lr=0.1,0.2", "--set", "evaluation.groups=[\"unseen\"]"}, "evaluation.groups"},
           {{"--grid", "algorithm.client.lr=0.1,0.2", "--metric", "eval.validation.perplexity"}, "no such figure"},
           {{"--grid", "algorithm.client.lr=0.1,0.2", "--budget", "1"}, "--budget 1"},
           {{"--grid", "algorithm.client.lr=0.1,0.2", "--set", "scenario.epochs=2"}, "scenario.rounds=500"},
           {{"--grid", "algorithm.client.lr=0.1,0.2", "--set", "data.split=[0.8,0,0.2]", "--set",
             "data.unseen_users.validation=0"},
            "validation"},
           {{"--grid", "data.split=[0.8,0.1,0.1],[0.5,0.4,0.1]"},
            "data.split: is [0.8, 0.1, 0.1] in one setting and [0.5, 0.4, 0.1] in another: they would be scored on "
            "different examples"}}) {
    std::vector<std::string> all = {"tune", scenario.string(), "--out", out.string()};
    all.insert(all.end(), words.begin(), words.end());
    const auto done = run_furlong(folder, all);
    BOOST_TEST(done.code == 2, said << done.err);
    BOOST_TEST(has(done.err, said), said << ": " << done.err);
    BOOST_TEST(!std::filesystem::exists(out));
  }
}

BOOST_AUTO_TEST_CASE(drawn_settings_keep_to_their_range_and_are_drawn_again) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg", 6);
  const std::vector<std::string> words = {"--range", "algorithm.client.lr=log:1e-3..0.1", "--samples", "4",
                                          "--grid",  "participation.per_round=5,10",      "--format",  "json"};
  const auto done = run_furlong(folder, tune(scenario, folder / "tune", words));
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  const auto table = json::parse(done.out);
  BOOST_TEST(table["settings"].size() == 8U);
  std::set<double> rates;
  for (const auto& one : table["settings"]) rates.insert(one["grid"]["algorithm.client.lr"].get<double>());
  BOOST_TEST(rates.size() == 4U);
  BOOST_TEST(*rates.begin() >= 1e-3);
  BOOST_TEST(*rates.rbegin() <= 0.1);
  BOOST_TEST(table == tuned(folder / "tune"));
}

BOOST_AUTO_TEST_SUITE_END()
