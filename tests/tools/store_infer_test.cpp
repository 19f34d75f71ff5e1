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

BOOST_AUTO_TEST_CASE(user_embeddings_are_drawn_only_when_asked_for) {
  const auto central = folder / "central";
  const auto server = run_furlong(folder, {"run", small_scenario(folder, "centralized").string(), "--set",
                                           "model.user_table=true", "--out", central.string()});
  BOOST_REQUIRE_MESSAGE(server.code == 0, server.err);
  const auto plain = run_furlong(folder, {"report", run.string(), central.string()});
  BOOST_REQUIRE_MESSAGE(plain.code == 0, plain.err);
  BOOST_TEST(read_file(folder / "comparison.html").find("User embeddings") == std::string::npos);
  const auto before = read_file(folder / "comparison.html");
  const auto asked = run_furlong(folder, {"report", "--embeddings", run.string(), central.string()});
  BOOST_REQUIRE_MESSAGE(asked.code == 0, asked.err);
  BOOST_TEST(asked.out.find("note: this file shows private values") != std::string::npos);
  BOOST_TEST(plain.out.find("private values") == std::string::npos);
  BOOST_TEST(read_file(folder / "comparison.html") == before);
  const auto page = read_file(folder / "comparison-private.html");
  BOOST_TEST(page.find("User embeddings, furl") != std::string::npos);
  BOOST_TEST(page.find("User embeddings, centralized") != std::string::npos);
  BOOST_TEST(page.find("in common") != std::string::npos);

  const auto elsewhere = folder / "elsewhere";
  const auto again = run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--set", "data.split_seed=99",
                                          "--out", elsewhere.string()});
  BOOST_REQUIRE_MESSAGE(again.code == 0, again.err);
  BOOST_REQUIRE(run_furlong(folder, {"report", "--embeddings", run.string(), elsewhere.string()}).code == 0);
  const auto apart = read_file(folder / "comparison-private.html");
  BOOST_TEST(apart.find("in common") == std::string::npos);
  BOOST_TEST(apart.find("are not compared: their [data] differ in split_seed") != std::string::npos);

  const auto alone = run_furlong(folder, {"report", "--embeddings", run.string()});
  BOOST_REQUIRE_MESSAGE(alone.code == 0, alone.err);
  BOOST_TEST(read_file(run / "report-private.html").find("User embeddings") != std::string::npos);
  BOOST_TEST(read_file(run / "report.html").find("User embeddings") == std::string::npos);

  const auto stateless = folder / "stateless";
  BOOST_REQUIRE(
      run_furlong(folder, {"run", small_scenario(folder, "fedrecon").string(), "--out", stateless.string()}).code == 0);
  const auto refused = run_furlong(folder, {"report", "--embeddings", stateless.string()});
  BOOST_TEST(refused.code == 2);
  BOOST_TEST(refused.err.find("has no user embeddings") != std::string::npos);
}

// A run that keeps its best model: stopped and resumed, in either engine, and what is inferred from.
BOOST_AUTO_TEST_CASE(the_best_model_is_what_a_run_ends_with) {
  const auto scenario = small_scenario(folder, "fedavg").string();
  const auto result_of = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words{
        "run", scenario, "--set", "algorithm.client.lr=0.5", "--out", (folder / name).string()};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return summary_of(folder / name);
  };
  const auto best = result_of("best", {"--set", "evaluation.select=best"});
  const auto version = best["best"]["version"].get<int>();
  BOOST_TEST(version < 20);
  BOOST_TEST(best["rounds"] == 20);
  BOOST_TEST(best["best"]["value"] == best["eval"]["validation"]["loss"]);
  const auto early = result_of("early", {"--set", "scenario.rounds=" + std::to_string(version)});
  BOOST_TEST(best["model_sha256"] == early["model_sha256"]);
  BOOST_TEST(best["eval"]["unseen"] == early["eval"]["unseen"]);
  BOOST_TEST(!early.contains("best"));
  const auto by_reference = result_of("reference", {"--set", "evaluation.select=best", "--engine", "reference"});
  BOOST_TEST(by_reference["model_sha256"] == best["model_sha256"]);
  BOOST_TEST(by_reference["eval"] == best["eval"]);
  const auto infer = [&](const std::string& name) {
    return ask({"infer", (folder / name).string(), "--client", "3"})["top"];
  };
  BOOST_TEST(infer("best") == infer("early"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(infer_says_that_texts_have_no_items) {
  const scratch_folder folder;
  const auto file = folder / "texts.tsv";
  std::ofstream(file) << "user\ttext\tlabel\nann\tgood day\t1\nann\tbad day\t0\nbob\tgood\t1\nbob\tbad\t0\n";
  const auto scenario = folder / "texts.toml";
  std::ofstream(scenario) << "[scenario]\nname = \"texts\"\nrounds = 2\n[data]\nsource = \"labelled-text\"\npath = \""
                          << file.string()
                          << "\"\npositive = \"1\"\ntokens = \"words\"\nsplit = [1, 0, 0]\n"
                             "[model]\nkind = \"logistic-regression\"\n[algorithm]\nkind = \"fedavg\"\n"
                             "[participation]\nper_round = 2\n";
  const auto run = folder / "run";
  const auto ran = run_furlong(folder, {"run", scenario.string(), "--out", run.string()});
  BOOST_REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const auto refused = run_furlong(folder, {"infer", run.string(), "--client", "0"});
  BOOST_TEST(refused.code == 2);
  BOOST_TEST(refused.err.find("predicts ratings of items, and the run's data are texts") != std::string::npos);
}
