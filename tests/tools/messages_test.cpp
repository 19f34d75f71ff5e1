// The furlong command: errors name the place, the reason and the fix.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_messages)

using namespace furlong::tests;

namespace {

/// What a command that is used in a wrong way says on stderr.
std::string refused(const scratch_folder& folder, const std::vector<std::string>& words) {
  const auto done = run_furlong(folder, words);
  BOOST_TEST(done.code == 2, done.err);
  BOOST_TEST(done.out.empty(), done.out);
  return done.err;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_missing_or_unknown_command_is_named) {
  const scratch_folder folder;
  BOOST_TEST(refused(folder, {}) == "furlong: a command is missing; furlong --help lists the commands\n");
  BOOST_TEST(refused(folder, {"store"}) ==
             "furlong: store: a command is missing; furlong store --help lists the commands\n");
  BOOST_TEST(refused(folder, {"rnu", "a.toml"}) ==
             "furlong: rnu: is not a command of furlong; did you mean run? furlong --help lists the commands\n");
  BOOST_TEST(refused(folder, {"certs", "make"}) ==
             "furlong: make: is not a command of furlong certs; furlong certs --help lists the commands\n");
}

BOOST_AUTO_TEST_CASE(an_unknown_option_is_named_with_the_nearest_one) {
  const scratch_folder folder;
  BOOST_TEST(
      refused(folder, {"run", "a.toml", "--sead", "3"}) ==
      "furlong: --sead: is not an option of furlong run; did you mean --seed? furlong run --help lists the options\n");
  BOOST_TEST(refused(folder, {"infer", "run", "--rating", "a"}).find("did you mean --ratings? ") != std::string::npos);
  BOOST_TEST(refused(folder, {"sweep", "a.toml", "--resume", "--smok"}) ==
             "furlong: --resume: is not an option of furlong sweep; furlong sweep --help lists the options\n"
             "furlong: --smok: is not an option of furlong sweep; did you mean --smoke? furlong sweep --help lists the "
             "options\n");
  // The option that is missing was mistyped.
  BOOST_TEST(
      refused(folder, {"replay", "run", "--witout=3"}) ==
      "furlong: --witout: is not an option of furlong replay; did you mean --without? furlong replay --help lists "
      "the options\n");
  BOOST_TEST(refused(folder, {"--seed", "3", "run", "a.toml"}) ==
             "furlong: --seed: is not an option of furlong; write what belongs to furlong run after it\n");
  BOOST_TEST(refused(folder, {"run", "a.toml", "b.toml", "c.toml"}) ==
             "furlong: b.toml: is one argument too many for furlong run; furlong run --help lists the arguments\n"
             "furlong: c.toml: is one argument too many for furlong run; furlong run --help lists the arguments\n");
}

BOOST_AUTO_TEST_CASE(the_reference_has_the_keys_of_a_table_or_kind) {
  const scratch_folder folder;
  const auto all = run_furlong(folder, {"reference"}).out;
  BOOST_TEST(all == read_file("docs/scenario-reference.md"));
  const auto some = run_furlong(folder, {"reference", "poisson", "algorithm.client", "fedrep"}).out;
  for (const auto* heading : {"## [algorithm.client]", "### kind = \"fedrep\"", "### policy = \"poisson\""})
    BOOST_TEST(some.find(heading) != std::string::npos);
  BOOST_TEST(some.find("| `head_epochs` |") != std::string::npos);
  BOOST_TEST(std::ranges::count(some, '#') == 8);
  BOOST_TEST(refused(folder, {"reference", "fedrepp"}) ==
             "furlong: fedrepp: is no table of a scenario, and no kind that is registered; did you mean fedrep?\n");
}

BOOST_AUTO_TEST_CASE(a_missing_argument_or_value_is_named_as_help_names_it) {
  const scratch_folder folder;
  BOOST_TEST(refused(folder, {"run"}) == "furlong: run: SCENARIO is missing; furlong run --help describes it\n");
  BOOST_TEST(refused(folder, {"replay", "run"}) ==
             "furlong: replay: --without CLIENTS is missing; furlong replay --help describes it\n");
  BOOST_TEST(refused(folder, {"run", "a.toml", "--seed"}) == "furlong: --seed: the value is missing; write --seed N\n");
  BOOST_TEST(refused(folder, {"run", "a.toml", "--seed", "1", "--seed", "2"}) ==
             "furlong: --seed: is given 2 times; write it once\n");
  BOOST_TEST(refused(folder, {"run", "a.toml", "--resume=often"}) ==
             "furlong: --resume: takes no value; write --resume alone, or leave it out\n");
  BOOST_TEST(refused(folder, {"replay", "run", "--without", "3", "--jobs", "2"}) ==
             "furlong: --jobs: has no meaning without --each; add --each, or leave out --jobs\n");
  BOOST_TEST(refused(folder, {"infer", "run", "--text", "a", "--ratings", "b"}) ==
             "furlong: --text: cannot be combined with --ratings; leave out one of them\n");
  BOOST_TEST(refused(folder, {"infer", "run", "--client", "1", "--user", "b"}) ==
             "furlong: infer: takes only one of --client, --user, --ratings, --texts, --batch; leave out the others\n");
  BOOST_TEST(refused(folder, {"run", "a.toml", "--threads", "0"}) ==
             "furlong: --threads: \"0\" is not a whole number from 1 to 1024\n");
  BOOST_TEST(refused(folder, {"infer", "run", "--temperature", "hot"}) ==
             "furlong: --temperature: \"hot\" is not a number from 0 to 100\n");
  BOOST_TEST(refused(folder, {"run", "a.toml", "--log-level", "loud"}) ==
             "furlong: --log-level: \"loud\" is none of these: trace, debug, info, warn, error, off\n");
}

BOOST_AUTO_TEST_CASE(errors_of_a_setting_name_the_option_that_set_it_once) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl").string();
  BOOST_TEST(refused(folder, {"run", scenario, "--set", "rounds"}) ==
             "furlong: --set rounds: is not KEY=VALUE; write --set scenario.rounds=10, for example\n");
  BOOST_TEST(refused(folder, {"run", scenario, "--set", "model.rank=x"}) ==
             "--set model.rank: is \"x\", must be a whole number\n");
  BOOST_TEST(refused(folder, {"sweep", scenario, "--grid", "model.rank=x,4"}) ==
             "--grid model.rank: is \"x\", must be a whole number\n");
  BOOST_TEST(refused(folder, {"sweep", scenario, "--grid", "algorithm.client.lr=0.1,0.2", "--with",
                              "model.rank=4,x"}) == "--with model.rank: is \"x\", must be a whole number\n");
  BOOST_TEST(refused(folder, {"tune", scenario, "--range", "model.rank=0.5..0.6", "--samples", "1"})
                 .starts_with("--range model.rank: is 0."));
  BOOST_TEST(refused(folder, {"tune", scenario, "--range", "scenario.rounds=1..3"}) ==
             "furlong: --range scenario.rounds: is not a setting to choose; choose keys of the algorithm, the model or "
             "the participation\n");
  BOOST_TEST(refused(folder, {"tune", scenario, "--grid", "model.rank=4,5", "--metric", "eval.validation.rmsee"})
                 .starts_with("--metric: evaluation.metric: "));
}

BOOST_AUTO_TEST_CASE(a_folder_with_other_content_is_refused_with_what_the_command_can_do) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl", 2).string();
  const auto taken = (folder / "taken").string();
  std::filesystem::create_directory(taken);
  std::ofstream(folder / "taken/notes.txt") << "mine\n";
  BOOST_TEST(refused(folder, {"run", scenario, "--out", taken}) ==
             "furlong: " + taken +
                 ": the folder exists and is not empty; name another folder with --out, or continue its run with "
                 "--resume\n");
  BOOST_TEST(refused(folder, {"sweep", scenario, "--grid", "model.rank=3,4", "--out", taken}) ==
             "furlong: " + taken +
                 ": the folder exists and is not empty; name another folder with --out; only that of an earlier sweep "
                 "is continued, which has a sweep.json\n");
  BOOST_TEST(refused(folder, {"tune", scenario, "--grid", "model.rank=3,4", "--out", taken})
                 .find("only that of an earlier tuning is continued, which has a tune.json\n") != std::string::npos);
  std::filesystem::create_directory(folder / "empty");
  for (const std::string name : {"empty", "new"}) {
    const auto out = (folder / name).string();
    const auto done = run_furlong(folder, {"run", scenario, "--out", out, "--resume"});
    BOOST_TEST(done.code == 0);
    BOOST_TEST(done.err.starts_with("warning: --resume: " + out + (name == "new" ? " does not exist" : " is empty") +
                                    ", so there is no run to continue and a new one starts there; "),
               done.err);
  }
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_accessed_is_named) {
  const scratch_folder folder;
  const auto long_name = (folder / std::string(300, 'a')).string();
  const auto done = run_furlong(folder, {"report", long_name});
  BOOST_TEST(done.code == 4);
  BOOST_TEST(done.err == "furlong: " + long_name +
                             "/sweep.json: cannot be accessed: File name too long; check the path and its "
                             "permissions\n");
  const auto file = small_scenario(folder, "furl").string();
  BOOST_TEST(refused(folder, {"run", file, "--out", file}) ==
             "furlong: " + file + ": is not a folder; name another folder with --out\n");
  const auto absent = run_furlong(folder, {"report", (folder / "absent").string()});
  BOOST_TEST(absent.code == 3);
  BOOST_TEST(absent.err == "furlong: " + (folder / "absent").string() + ": does not exist; name the folder of a run\n");
}

BOOST_AUTO_TEST_CASE(a_report_says_what_is_missing_from_the_page) {
  const scratch_folder folder;
  const auto out = (folder / "run").string();
  BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, "furl", 2).string(), "--out", out}).code == 0);
  BOOST_TEST(run_furlong(folder, {"report", out}).err.empty());
  std::filesystem::remove(folder / "run/metrics.jsonl");
  std::filesystem::remove(folder / "run/events.jsonl");
  const auto done = run_furlong(folder, {"report", out});
  BOOST_TEST(done.code == 0);
  BOOST_TEST(done.err == "note: " + out + ": This run has no metrics.jsonl: the page has no curves.\nnote: " + out +
                             ": This run has no events.jsonl: the page lists no events.\n");
}

// A host whose name only looks like an address of this machine is another machine.
BOOST_AUTO_TEST_CASE(without_authentication_only_loopback_addresses_are_used) {
  const scratch_folder folder;
  for (const std::string server : {"127.example.com:7000", "10.0.0.1:7000", "0.0.0.0:7000"})
    BOOST_TEST(refused(folder, {"aggregate", "--server", server, "--listen", "127.0.0.1:0", "--insecure"})
                   .find(server + " is not a loopback address") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
