// furlong store, infer and report, on a small run.
#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

using namespace furlong::tests;
using nlohmann::json;

namespace {

struct furl_run {
  furl_run() : run(folder / "run") {
    BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--out", run.string()}).code ==
                  0);
  }
  json ask(std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "json"});
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return json::parse(done.out);
  }
  scratch_folder folder;
  std::filesystem::path run;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(command_store_and_infer, furl_run)

BOOST_AUTO_TEST_CASE(a_client_is_listed_shown_and_erased) {
  const auto clients = ask({"store", "ls", run.string()});
  BOOST_REQUIRE(clients.size() > 10U);
  const auto client = std::to_string(clients[3]["client"].get<int>());
  const auto shown = ask({"store", "show", run.string(), "--client", client});
  BOOST_TEST(shown["tensors"]["user"].size() == 4U);
  BOOST_TEST(shown["tensors"]["user_bias"].size() == 1U);
  BOOST_TEST(ask({"store", "verify", run.string()})["sound"] == true);
  BOOST_TEST(ask({"infer", run.string(), "--client", client})["personal"] == "stored");

  BOOST_TEST(ask({"store", "erase", run.string(), "--client", client})["erased"] == true);
  BOOST_TEST(ask({"store", "erase", run.string(), "--client", client})["erased"] == false);
  BOOST_TEST(ask({"store", "ls", run.string()}).size() == clients.size() - 1);
  BOOST_TEST(run_furlong(folder, {"store", "show", run.string(), "--client", client}).code == 3);
  BOOST_TEST(ask({"store", "verify", run.string()})["sound"] == true);
  BOOST_TEST(ask({"infer", run.string(), "--client", client})["personal"] == "reconstructed");
}

BOOST_AUTO_TEST_CASE(somebody_new_is_served_by_reconstruction) {
  const auto ratings = folder / "mine.csv";
  std::ofstream(ratings) << "1,5\n2,1\n3,4\n";
  const auto served = ask({"infer", run.string(), "--ratings", ratings.string(), "--top", "7"});
  BOOST_TEST(served["personal"] == "reconstructed");
  BOOST_REQUIRE(served["top"].size() == 7U);
  double before = 1e9;
  for (const auto& item : served["top"]) {
    BOOST_TEST(item["prediction"].get<double>() <= before);
    before = item["prediction"].get<double>();
  }
  std::ofstream(ratings) << "1,5\nnonsense\n";
  const auto refused = run_furlong(folder, {"infer", run.string(), "--ratings", ratings.string()});
  BOOST_TEST(refused.code == 3);
  BOOST_TEST(refused.err.find("mine.csv:2") != std::string::npos);
  BOOST_TEST(run_furlong(folder, {"infer", run.string(), "--client", "99999"}).code == 2);
}

BOOST_AUTO_TEST_CASE(reports_compare_runs) {
  const auto other = folder / "other";
  BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, "fedavg").string(), "--out", other.string()}).code ==
                0);
  const auto done = run_furlong(folder, {"report", run.string(), other.string()});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  BOOST_TEST(done.out.find("furl") != std::string::npos);
  BOOST_TEST(done.out.find("fedavg") != std::string::npos);
  BOOST_TEST(read_file(folder / "comparison.html").starts_with("<!"));
  BOOST_TEST(run_furlong(folder, {"report", (folder / "nothing").string()}).code == 3);
}

BOOST_AUTO_TEST_SUITE_END()
