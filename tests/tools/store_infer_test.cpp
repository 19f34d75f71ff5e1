// furlong store, infer and report, on a small run.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

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
  const auto clients = ask({"store", "ls", run.string()})["clients"];
  BOOST_REQUIRE(clients.size() > 10U);
  const auto client = std::to_string(clients[3]["client"].get<int>());
  const auto shown = ask({"store", "show", run.string(), "--client", client});
  BOOST_TEST(shown["tensors"]["user"].size() == 4U);
  BOOST_TEST(shown["tensors"]["user_bias"].size() == 1U);
  BOOST_TEST(ask({"store", "verify", run.string()})["sound"] == true);
  BOOST_TEST(ask({"infer", run.string(), "--client", client})["personal"] == "stored");

  BOOST_TEST(ask({"store", "erase", run.string(), "--client", client})["erased"] == true);
  BOOST_TEST(ask({"store", "erase", run.string(), "--client", client})["erased"] == false);
  BOOST_TEST(ask({"store", "ls", run.string()})["clients"].size() == clients.size() - 1);
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

// As they are scored: with the values before any training, unless the run rebuilds those of cold clients.
BOOST_AUTO_TEST_CASE(under_plain_furl_a_client_without_values_is_not_reconstructed) {
  const auto plain = folder / "plain";
  const auto ran = run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--set",
                                        "private.cold_start=default", "--out", plain.string()});
  BOOST_REQUIRE_MESSAGE(ran.code == 0, ran.err);
  std::vector<bool> stored(120, false);
  const auto listed = ask({"store", "ls", plain.string()});
  for (const auto& one : listed["clients"]) stored[one["client"].get<std::size_t>()] = true;
  const auto unseen = static_cast<std::size_t>(std::find(stored.begin(), stored.end(), false) - stored.begin());
  BOOST_REQUIRE(unseen < stored.size());
  const auto client = std::to_string(unseen);
  BOOST_TEST(ask({"infer", plain.string(), "--client", client})["personal"] == "initial");
  BOOST_TEST(ask({"infer", run.string(), "--client", client})["personal"] == "reconstructed");
  std::ofstream(folder / "mine.csv") << "1,5\n2,1\n3,4\n";  // what somebody gives is there to be used
  const auto given = ask({"infer", plain.string(), "--ratings", (folder / "mine.csv").string()});
  BOOST_TEST(given["personal"] == "reconstructed");
}

BOOST_AUTO_TEST_CASE(a_wrong_number_is_told_with_what_is_wanted) {
  const auto refusal = [&](std::vector<std::string> words) {
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 2);
    return done.err;
  };
  const auto named = refusal({"infer", run.string(), "--client", "ann"});
  BOOST_TEST(named.find("--client: \"ann\" is not the number of a client; furlong store ls lists") != std::string::npos,
             named);
  BOOST_TEST(refusal({"store", "show", run.string(), "--client", "-1"}).find("\"-1\" is not the number of a client") !=
             std::string::npos);
  for (const std::string top : {"abc", "-1", "0", "1001", "99999999999999999999", "1.5", ""}) {
    const auto why = refusal({"infer", run.string(), "--client", "3", "--top", top});
    BOOST_TEST(why.find("--top: \"" + top + "\" is not a whole number from 1 to 1000") != std::string::npos, why);
  }
  std::ofstream(folder / "mine.csv") << "1,5\n";
  const auto served = ask({"infer", run.string(), "--ratings", (folder / "mine.csv").string(), "--top", "010"});
  BOOST_TEST(served["top"].size() == 10U);  // no octal number
  const auto seed = refusal({"run", small_scenario(folder, "furl").string(), "--seed", "x"});
  BOOST_TEST(seed.find("--seed: \"x\" is not a whole number from 0 to ") != std::string::npos, seed);
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
  const auto umask_before = ::umask(022);
  const auto plain = run_furlong(folder, {"report", run.string(), central.string()});
  BOOST_REQUIRE_MESSAGE(plain.code == 0, plain.err);
  BOOST_TEST(read_file(folder / "comparison.html").find("User embeddings") == std::string::npos);
  const auto before = read_file(folder / "comparison.html");
  const auto asked = run_furlong(folder, {"report", "--embeddings", run.string(), central.string()});
  ::umask(umask_before);
  BOOST_REQUIRE_MESSAGE(asked.code == 0, asked.err);
  BOOST_TEST(asked.out.find("note: this file shows private values") != std::string::npos);
  BOOST_TEST(plain.out.find("private values") == std::string::npos);
  BOOST_TEST(read_file(folder / "comparison.html") == before);
  // Anyone who has the private page learns which users are similar: it is as closed as the store, whatever the umask.
  using std::filesystem::perms;
  const auto others = [](const std::filesystem::path& file) {
    return std::filesystem::status(file).permissions() & (perms::group_all | perms::others_all);
  };
  BOOST_TEST((others(folder / "comparison-private.html") == perms::none));
  BOOST_TEST((others(folder / "comparison.html") == (perms::group_read | perms::others_read)));
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

namespace {

/// A run on a table of texts, and what infer says of it.
struct text_run {
  text_run(const std::string& rows, const std::string& data, const std::string& more) : run(folder / "run") {
    const auto file = folder / "texts.tsv";
    std::ofstream(file) << "user\ttext\tlabel\n" + rows;
    const auto scenario = folder / "texts.toml";
    std::ofstream(scenario)
        << "[scenario]\nname = \"texts\"\nrounds = 40\n[data]\nsource = \"labelled-text\"\npath = \"" << file.string()
        << "\"\ntokens = \"words\"\nsplit = [1, 0, 0]\n"
        << data << "[participation]\nper_round = 2\n[evaluation]\nevery = 0\n"
        << more;
    const auto ran = run_furlong(folder, {"run", scenario.string(), "--out", run.string()});
    BOOST_REQUIRE_MESSAGE(ran.code == 0, ran.err);
  }
  json ask(std::vector<std::string> words) {
    words.insert(words.begin(), {"infer", run.string()});
    words.insert(words.end(), {"--format", "json"});
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return json::parse(done.out);
  }
  std::string refusal(std::vector<std::string> words) {
    words.insert(words.begin(), {"infer", run.string()});
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 2);
    return done.err;
  }
  scratch_folder folder;
  std::filesystem::path run;
};

constexpr auto opinions = "ann\tgood day\t1\nann\tbad day\t0\nbob\tgood\t1\nbob\tbad\t0\n";
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(infer_on_texts)

BOOST_AUTO_TEST_CASE(a_text_has_a_probability) {
  text_run on(opinions, "positive = \"1\"\n",
              "[model]\nkind = \"logistic-regression\"\n[algorithm]\nkind = \"fedavg\"\nclient = {lr = 1.0}\n");
  const auto good = on.ask({"--text", "good  evening"});
  BOOST_TEST(good["probability"].get<double>() > 0.8);
  BOOST_TEST(good["label"] == "1");
  const auto shown = run_furlong(on.folder, {"infer", on.run.string(), "--text", "good"});
  BOOST_TEST(says(shown.out, " of the label \"1\"\n"), shown.out);
  BOOST_TEST(good["tokens"] == 2);
  BOOST_TEST(good["unknown"] == 1);
  BOOST_TEST(good["who"] == "somebody new");
  BOOST_TEST(good["personal"] == "model");
  const auto bad = on.ask({"--client", "0", "--text", "bad"});
  BOOST_TEST(bad["probability"].get<double>() < 0.2);
  BOOST_TEST(bad["who"] == "ann");
  BOOST_TEST(bad["known"] == 2);
  BOOST_TEST(says(on.refusal({"--client", "0"}), "the run's data are texts; give one: --text TEXT"));
  BOOST_TEST(says(on.refusal({"--text", " "}), "--text: is empty"));
  BOOST_TEST(says(on.refusal({"--text", "\xFF"}), "--text: is not UTF-8"));
  BOOST_TEST(says(on.refusal({}), "add --client ID, --ratings FILE or --text TEXT"));
  BOOST_TEST(says(on.refusal({"--text", "good", "--client", "2"}), "2 is not a client"));
  on.refusal({"--text", "good", "--ratings", "file"});
}

// The text says nothing: who wrote it decides.
BOOST_AUTO_TEST_CASE(a_text_has_a_class_that_depends_on_its_user) {
  text_run on("ann\tsame words\tnews\nbob\tsame words\tsport\n", "",
              "[model]\nkind = \"doc-classifier\"\nuser_embedding = 4\nprivate = [\"user\"]\n[algorithm]\nkind = "
              "\"furl\"\nclient = {lr = 0.5, epochs = 2}\n");
  for (const auto& [client, name] : {std::pair("0", "news"), std::pair("1", "sport")}) {
    const auto said = on.ask({"--client", client, "--text", "same words"});
    BOOST_TEST(said["name"] == name);
    BOOST_TEST(said["personal"] == "stored");
  }
  BOOST_TEST(on.ask({"--text", "same words"})["personal"] != "stored");
}

BOOST_AUTO_TEST_CASE(a_name_cannot_steer_the_terminal) {
  text_run on("a\x1B[31mnn\tgood\tnews\nbob\tbad\tsport\n", "",
              "[model]\nkind = \"doc-classifier\"\n[algorithm]\nkind = \"fedavg\"\nclient = {lr = 0.1}\n");
  const auto shown = run_furlong(on.folder, {"infer", on.run.string(), "--client", "0", "--text", "good"});
  BOOST_TEST(says(shown.out, "a?[31mnn: "), shown.out);
}

BOOST_AUTO_TEST_CASE(vectors_have_no_items_and_no_texts) {
  scratch_folder folder;
  std::ofstream(folder / "v.json") << R"({"users": ["a", "b"], "user_data": {
    "a": {"x": [[0, 0, 0], [1, 0, 0]], "y": [0, 1]}, "b": {"x": [[0, 0, 0], [0, 0, 0]], "y": [0, 1]}}})";
  std::ofstream(folder / "v.toml") << "[scenario]\nname = \"v\"\nrounds = 1\n[data]\nsource = \"leaf\"\npath = \""
                                   << (folder / "v.json").string()
                                   << "\"\ntask = \"vectors\"\nsplit = [0.5, 0, 0.5]\n[model]\nkind = "
                                      "\"logistic-regression\"\n[algorithm]\nkind = \"fedavg\"\n[participation]\n"
                                      "per_round = 2\n";
  const auto run = (folder / "run").string();
  const auto made = run_furlong(folder, {"run", (folder / "v.toml").string(), "--out", run});
  BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto asked = run_furlong(folder, {"infer", run, "--client", "1"});
  BOOST_TEST(asked.code == 2);
  BOOST_TEST(says(asked.err, "the run's data are vectors"), asked.err);
}

// Other rows would give clients each other's vectors, and another class would shift the names.
BOOST_AUTO_TEST_CASE(what_was_learned_from_other_data_says_nothing) {
  const std::string personal =
      "[model]\nkind = \"doc-classifier\"\nuser_embedding = 4\nprivate = [\"user\"]\n[algorithm]\nkind = \"furl\"\n"
      "client = {lr = 0.5}\n";
  text_run on("ann\tsame words\tnews\nbob\tsame words\tsport\n", "", personal);
  const auto answers = [&](const std::vector<std::string>& words) { return run_furlong(on.folder, words); };
  const auto file = on.folder / "texts.tsv";
  const auto learned = read_file(file);
  for (const char* rows :
       {"bob\tsame words\tsport\nann\tsame words\tnews\n", "ann\tsame words\tnews\nbob\tsame words\tarts\n",
        "ann\tother words\tnews\nbob\tfar more words\tsport\nbob\tmore\tnature\n"}) {
    std::ofstream(file) << "user\ttext\tlabel\n" << rows;
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"infer", on.run.string(), "--client", "0", "--text", "same words"},
                                               {"report", "--embeddings", on.run.string()}}) {
      const auto done = answers(words);
      BOOST_TEST(done.code == 3);
      BOOST_TEST(says(done.err, "the data differ from those that the run started with"), done.err);
    }
    BOOST_TEST(answers({"store", "ls", on.run.string()}).code == 0);  // which reads no data
  }
  std::ofstream(file) << learned;
  BOOST_TEST(on.ask({"--client", "0", "--text", "same words"})["personal"] == "stored");
}

BOOST_AUTO_TEST_CASE(a_text_goes_on_to_its_end) {
  text_run on("ann\tone two three four\tx\nbob\tfive six one seven\tx\n", "task = \"next-token\"\n",
              "[model]\nkind = \"gru-lm\"\nembedding = 12\nhidden = 12\n[algorithm]\nkind = \"fedavg\"\nclient = "
              "{lr = 2.0, epochs = 5}\n");
  const auto on_from = [&](const char* text) { return on.ask({"--text", text})["goes_on"]; };
  BOOST_TEST(on_from("one") == (json{"two", "three", "four"}));
  BOOST_TEST(on_from("five six") == (json{"one", "seven"}));
  BOOST_TEST(on.ask({"--text", "one", "--top", "2"})["goes_on"] == (json{"two", "three"}));
  const auto shown = run_furlong(on.folder, {"infer", on.run.string(), "--text", "five six"});
  BOOST_TEST(says(shown.out, "five six one seven\n"));
  const auto ended = run_furlong(on.folder, {"infer", on.run.string(), "--text", "one two three four"});
  BOOST_TEST(says(ended.out, "one two three four (end)\n"), ended.out);
}

BOOST_AUTO_TEST_CASE(lines_within_a_text_stay_lines) {
  text_run on(
      "ann\tone two\tx\nbob\tone two\tx\n", "task = \"next-token\"\n",
      "[model]\nkind = \"gru-lm\"\nembedding = 4\nhidden = 4\n[algorithm]\nkind = \"fedavg\"\nclient = {lr = 0.1}\n");
  const auto shown = run_furlong(on.folder, {"infer", on.run.string(), "--text", "one\ntwo\x1B", "--top", "1"});
  BOOST_TEST(says(shown.out, "one\ntwo?"), shown.out);
}

BOOST_AUTO_TEST_CASE(what_does_not_read_in_order_does_not_go_on) {
  std::string rows;
  for (const auto* user : {"ann", "bob"})
    for (int i = 0; i < 12; ++i) rows += std::string(user) + "\tone two three four\tx\n";
  text_run on(rows, "task = \"next-token\"\n",
              "[model]\nkind = \"gru-lm\"\nembedding = 4\nhidden = 4\nprotocol = \"fedatt-2018\"\n[algorithm]\nkind = "
              "\"fedavg\"\nclient = {lr = 0.1}\n");
  BOOST_TEST(says(on.refusal({"--text", "one"}), "is \"fedatt-2018\", by which no text goes on"));
}

BOOST_AUTO_TEST_SUITE_END()
