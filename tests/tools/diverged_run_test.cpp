// A run that diverges: it ends early, says so, and is good for nothing.
#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(diverged_runs)

using namespace furlong::tests;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_that_diverges_ends_early_and_predicts_nothing) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "fedavg").string();
  const auto out = (folder / "run").string();
  const auto train = [&](const std::string& more) {
    std::filesystem::remove_all(out);
    return run_furlong(folder, {"run", scenario, "--out", out, "--set", "scenario.rounds=200", "--set",
                                "evaluation.every=1", "--set", more});
  };
  // Any growth of a loss counts as divergence here; the model stays finite.
  const auto done = train("scenario.diverged_at=1.0000001");
  const auto told = nlohmann::json::parse(read_file(folder / "run/summary.json"));
  BOOST_TEST(done.code == 4, done.err);
  BOOST_TEST(has(done.err, "training diverged: the "), done.err);
  BOOST_TEST(told["failed"].get<std::string>().starts_with("training diverged: "));
  BOOST_TEST(told["rounds"].get<int>() < 200);
  const auto asked = run_furlong(folder, {"infer", out, "--client", "5"});
  BOOST_TEST(asked.code == 4, asked.err);
  BOOST_TEST(has(asked.err, "training diverged"), asked.err);
  BOOST_TEST(asked.out.empty());
  const auto again = run_furlong(folder, {"run", scenario, "--out", out, "--resume", "--set", "scenario.rounds=300",
                                          "--set", "evaluation.every=1"});
  BOOST_TEST(again.code == 4, again.err);  // it stays so
  BOOST_TEST(nlohmann::json::parse(read_file(folder / "run/summary.json"))["rounds"] == told["rounds"]);
  const auto wild = train("algorithm.client.lr=1e4");
  BOOST_TEST(wild.code == 4, wild.err);
}

BOOST_AUTO_TEST_SUITE_END()
