// furlong replay: without a client, a run is the run in which it never reported, to the bit.
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_replay)

using namespace furlong::tests;
using nlohmann::json;

namespace {

struct kind_of_run {
  std::string name;
  std::string algorithm;
  std::string participation;  ///< TOML lines
};
const std::vector<kind_of_run> kinds = {
    {"sync-furl", "furl", "per_round = 8\n"},
    {"sync-fedrecon", "fedrecon", "per_round = 8\nover_selection = 1.3\ndeadline = 60\n"},
    {"fedbuff-furl", "furl", "mode = \"async\"\nbuffer = 4\nconcurrency = 10\n"},
    {"fedbuff-fedrecon", "fedrecon", "mode = \"async\"\nbuffer = 4\nconcurrency = 10\n"},
    {"poisson-furl", "furl", "policy = \"poisson\"\nrate = 0.1\n"},
};

/// 120 clients, of whom 96 train, on unequal devices that fail; every third version is kept.
std::filesystem::path scenario_of(const scratch_folder& folder, const kind_of_run& of, const std::string& more = {}) {
  const auto file = folder / (of.name + ".toml");
  auto text = read_file(small_scenario(folder, of.algorithm, 24));
  text.replace(text.find("per_round = 20\n"), 15, of.participation);
  text.replace(text.find("[checkpoint]\n"), 13, "[checkpoint]\nkeep = 4\n");
  std::ofstream(file) << text
                      << "[devices]\nspeed = {ms_per_example = 60, sigma = 1.0}\n"
                         "stragglers = {share = 0.2, factor = 5}\n"
                         "availability = {kind = \"diurnal\", rate = 0.5}\n[dropout]\ntrain = 0.1\nupload = 0.1\n"
                      << more;
  return file;
}

void run(const scratch_folder& folder, const std::filesystem::path& scenario, const std::filesystem::path& out) {
  const auto done = run_furlong(folder, {"run", scenario.string(), "--out", out.string(), "--threads", "2"});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
}

std::string event_about(int client) {
  return "[[event]]\nat = \"round 1\"\nunresponsive = \"" + std::to_string(client) + "\"\n";
}

/// The clients that train.
std::vector<int> training_clients(const scratch_folder& folder, const std::filesystem::path& run) {
  const auto file = folder / "split.csv";
  const auto done = run_furlong(folder, {"export", run.string(), "--split", file.string()});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  std::vector<int> all;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);)
    if (line.find(",train,train,") != std::string::npos)
      if (const int client = std::stoi(line); all.empty() || all.back() != client) all.push_back(client);
  return all;
}

std::vector<std::string> kept_in(const std::filesystem::path& run) {
  std::vector<std::string> all;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(run / "kept", missing))
    if (entry.is_directory()) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

/// A client that trains and was never selected.
std::string never_selected(const scratch_folder& folder, const std::filesystem::path& run) {
  const auto table = folder / "clients.csv";
  const auto done = run_furlong(folder, {"export", run.string(), "--clients", table.string()});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  std::istringstream lines(read_file(table));
  for (std::string line; std::getline(lines, line);)
    if (line.find(",train,0,0,") != std::string::npos) return line.substr(0, line.find(','));
  BOOST_FAIL("all were selected");
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_replay_is_the_run_in_which_the_client_never_reported) {
  for (const auto& kind : kinds) {
    const scratch_folder folder;
    const auto all = folder / "all";
    run(folder, scenario_of(folder, kind), all);
    const auto clients = training_clients(folder, all);
    std::size_t shortened = 0;
    for (std::size_t i = 3; i < clients.size(); i += 17) {
      const int client = clients[i];
      BOOST_TEST_CONTEXT(kind.name << " without client " << client) {
        const auto out = folder / ("replay-" + std::to_string(client));
        const auto done = run_furlong(folder, {"replay", all.string(), "--without", std::to_string(client), "--out",
                                               out.string(), "--format", "json"});
        BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
        const auto made = json::parse(done.out);
        shortened += made["started_from"].get<int>() > 0 ? 1 : 0;
        const auto never = folder / ("never-" + std::to_string(client));
        run(folder, scenario_of(folder, kind, event_about(client)), never);
        const auto replayed = summary_of(out);
        const auto expected = summary_of(never);
        for (const auto* key : {"model_sha256", "private_sha256", "eval", "selected", "folded", "dropped", "late",
                                "surplus", "virtual_seconds"})
          BOOST_TEST(replayed[key] == expected[key], key);
        BOOST_TEST(made["eval"]["without"] == expected["eval"]);
        BOOST_TEST(read_file(out / "cohorts.jsonl") == read_file(never / "cohorts.jsonl"));
        const auto before = summary_of(all);
        BOOST_TEST((made["folded"] == 0) == (before["model_sha256"] == replayed["model_sha256"]));
        BOOST_TEST(made["eval"]["with"]["unseen"] == before["eval"]["unseen"]);
        BOOST_TEST(made["eval"]["with"]["seen"]["clients"].get<int>() + 1 ==
                   before["eval"]["seen"]["clients"].get<int>());
      }
    }
    if (kind.name == "poisson-furl") BOOST_TEST(shortened > 0U);
  }
}

BOOST_AUTO_TEST_CASE(several_clients_are_removed_together) {
  const scratch_folder folder;
  const auto all = folder / "all";
  run(folder, scenario_of(folder, kinds[0]), all);
  const auto clients = training_clients(folder, all);
  const auto one = std::to_string(clients[2]);
  const auto other = std::to_string(clients[30]);
  const auto done =
      run_furlong(folder, {"replay", all.string(), "--without", one + "," + other, "--out", (folder / "out").string()});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  BOOST_TEST(done.out.find("unseen.rmse") != std::string::npos);
  run(folder, scenario_of(folder, kinds[0], event_about(clients[2]) + event_about(clients[30])), folder / "never");
  BOOST_TEST(summary_of(folder / "out")["model_sha256"] == summary_of(folder / "never")["model_sha256"]);
}

BOOST_AUTO_TEST_CASE(the_newest_checkpoints_are_kept_with_sound_stores) {
  const scratch_folder folder;
  const auto all = folder / "all";
  run(folder, scenario_of(folder, kinds[0]), all);
  BOOST_TEST((kept_in(all) == std::vector<std::string>{"15", "18", "21", "24"}));
  for (const auto& version : kept_in(all)) {
    const auto store = all / "kept" / version / "private";
    const auto verified = run_furlong(folder, {"store", "verify", store.string()});
    BOOST_TEST(verified.code == 0, verified.err);
    BOOST_TEST(verified.out.find("sound") != std::string::npos);
  }
  // The last one has what the run has.
  const auto here = run_furlong(folder, {"store", "ls", all.string(), "--format", "json"});
  const auto there =
      run_furlong(folder, {"store", "ls", (all / "kept" / "24" / "private").string(), "--format", "json"});
  BOOST_TEST(json::parse(here.out)["clients"] == json::parse(there.out)["clients"]);
}

// Lowering it prunes at the next checkpoint; a run that is resumed keeps on keeping.
BOOST_AUTO_TEST_CASE(a_resumed_run_keeps_as_many_as_it_is_told) {
  const scratch_folder folder;
  const auto all = folder / "all";
  const auto scenario = scenario_of(folder, kinds[0]);
  run(folder, scenario, all);
  const auto more = run_furlong(folder, {"run", scenario.string(), "--resume", "--out", all.string(), "--set",
                                         "scenario.rounds=30", "--set", "checkpoint.keep=2"});
  BOOST_REQUIRE_MESSAGE(more.code == 0, more.err);
  BOOST_TEST((kept_in(all) == std::vector<std::string>{"27", "30"}));
}

// Exact unlearning starts from a model that the run really had.
BOOST_AUTO_TEST_CASE(a_kept_checkpoint_that_is_not_of_the_run_is_refused) {
  namespace fs = std::filesystem;
  const scratch_folder folder;
  const auto poisson = kinds.back();
  const auto scenario = scenario_of(folder, poisson);
  const auto made = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", scenario.string(), "--out", (folder / name).string(), "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = run_furlong(folder, words);
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    return folder / name;
  };
  const auto all = made("all", {});
  const auto never = never_selected(folder, all);
  const auto refused = [&](const fs::path& run, const std::string& why) {
    const auto done =
        run_furlong(folder, {"replay", run.string(), "--without", never, "--out", (folder / "replay").string()});
    BOOST_TEST(done.code == 3, done.err);
    BOOST_TEST(done.err.find(why) != std::string::npos, done.err);
    BOOST_TEST(done.err.find("remove this folder") != std::string::npos, done.err);
    BOOST_TEST(!fs::exists(folder / "replay"));
  };
  const auto with_kept = [&](const fs::path& from, const std::string& version) {
    const auto run = folder / "mixed";
    fs::remove_all(run);
    fs::copy(all, run, fs::copy_options::recursive);
    fs::remove_all(run / "kept" / "24");
    fs::copy(from / "kept" / version, run / "kept" / "24", fs::copy_options::recursive);
    return run;
  };
  refused(with_kept(made("other", {"--set", "algorithm.client.lr=0.2"}), "24"), "of another scenario than the run's");
  refused(with_kept(all, "21"), "is the checkpoint of version 21, not of that in its name");
  refused(with_kept(made("twin", {}), "24"), "belongs to another private store");
  const auto resumed = made("resumed", {"--set", "scenario.rounds=23"});
  made("resumed", {"--resume"});
  refused(with_kept(resumed, "24"), "its lives are not those of the run's checkpoint");
  const auto edited = made("edited", {"--set", "algorithm.kind=fedavg"});
  for (const auto& file : fs::directory_iterator(edited / "kept" / "24" / "checkpoint"))
    if (file.path().filename() != "checkpoint.furlong") std::ofstream(file.path(), std::ios::app) << "more";
  refused(edited, "is not as the run has written it");
  fs::remove(edited / "kept" / "digests.json");
  refused(edited, "is not among the checkpoints that the run kept (digests.json)");
  for (const auto& version : kept_in(edited)) fs::remove_all(edited / "kept" / version);
  const auto done = run_furlong(folder, {"replay", edited.string(), "--without", never});
  BOOST_TEST(done.code == 0, done.err);
  BOOST_TEST(done.out.find("trained again from the start") != std::string::npos, done.out);
}

BOOST_AUTO_TEST_CASE(an_erased_client_is_in_no_kept_checkpoint) {
  const scratch_folder folder;
  const auto all = folder / "all";
  run(folder, scenario_of(folder, kinds[0]), all);
  const auto stored = json::parse(run_furlong(folder, {"store", "ls", all.string(), "--format", "json"}).out);
  const auto& newest =
      *std::ranges::max_element(stored["clients"], {}, [](const json& one) { return one["version"].get<int>(); });
  const auto client = newest["client"].dump();
  const auto erased = run_furlong(folder, {"store", "erase", all.string(), "--client", client});
  BOOST_REQUIRE_MESSAGE(erased.code == 0, erased.err);
  BOOST_TEST(erased.out.find("furlong replay " + all.string() + " --without " + client) != std::string::npos);
  BOOST_TEST(kept_in(all).size() < 4U);
  for (const auto& version : kept_in(all)) {
    const auto store = all / "kept" / version / "private";
    BOOST_TEST(run_furlong(folder, {"store", "show", store.string(), "--client", client}).code != 0);
  }
  // The same during a run.
  const auto during = folder / "during";
  run(folder, scenario_of(folder, kinds[0], "[[event]]\nat = \"round 23\"\nleave = \"0-119\"\nerase = true\n"), during);
  for (const auto& version : kept_in(during)) {
    const auto store = during / "kept" / version / "private";
    const auto left = json::parse(run_furlong(folder, {"store", "ls", store.string(), "--format", "json"}).out);
    BOOST_TEST(left["clients"].empty(), version);
  }
}

// Where the server keeps values that are sums of what clients keep, erasing a client does not change them: it says so.
BOOST_AUTO_TEST_CASE(what_the_server_still_has_of_an_erased_client_is_told) {
  const scratch_folder folder;
  for (const std::string kind : {"scaffold", "furl"}) {
    const auto made = folder / kind;
    const auto done = run_furlong(folder, {"run", scenario_of(folder, kinds[0]).string(), "--out", made.string(),
                                           "--set", "algorithm.kind=" + kind});
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    const auto stored = json::parse(run_furlong(folder, {"store", "ls", made.string(), "--format", "json"}).out);
    const auto client = stored["clients"].at(0)["client"].dump();
    const auto erased = run_furlong(folder, {"store", "erase", made.string(), "--client", client});
    BOOST_TEST(
        (erased.out.find("note: the control variate c of the server") != std::string::npos) == (kind == "scaffold"),
        erased.out);
  }
}

BOOST_AUTO_TEST_CASE(the_influence_of_each_client_is_a_table) {
  const scratch_folder folder;
  const auto all = folder / "all";
  run(folder, scenario_of(folder, kinds[0]), all);
  const auto clients = training_clients(folder, all);
  const auto out = folder / "influence";
  const std::vector<std::string> words = {
      "replay", all.string(), "--each", "--without", std::to_string(clients[4]) + "," + std::to_string(clients[5]),
      "--out",  out.string()};
  const auto done = run_furlong(folder, words);
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  std::istringstream lines(read_file(out / "influence.csv"));
  std::string head;
  std::getline(lines, head);
  BOOST_TEST(head.starts_with("client,selected,aggregated,started_from,"));
  BOOST_TEST(head.find("unseen.rmse,unseen.rmse.without,unseen.rmse.change") != std::string::npos);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows)
    BOOST_TEST(line.starts_with(std::to_string(clients[4 + rows]) + ","));
  BOOST_TEST(rows == 2U);
  BOOST_TEST(read_file(out / "report.html").find("Influence of clients") != std::string::npos);
  const auto again = run_furlong(folder, words);
  BOOST_TEST(again.out == done.out);
  BOOST_TEST(again.err.empty(), again.err);  // nothing ran
}

BOOST_AUTO_TEST_CASE(what_cannot_be_replayed_is_refused_with_the_reason) {
  const scratch_folder folder;
  const auto refused = [&](const std::string& kind, const std::string& key, const std::string& without,
                           const std::string& why) {
    const auto out = folder / ("run-" + std::to_string(std::hash<std::string>()(kind + key)));
    if (!std::filesystem::exists(out)) {
      std::vector<std::string> words = {"run", small_scenario(folder, kind, 2).string(), "--out", out.string()};
      if (!key.empty()) words.insert(words.end(), {"--set", key});
      const auto done = run_furlong(folder, words);
      BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    }
    const auto done = run_furlong(folder, {"replay", out.string(), "--without", without});
    BOOST_TEST(done.code == 2);
    BOOST_TEST(done.err.find(why) != std::string::npos, done.err);
  };
  refused("furl", "scenario.clock=real", "1", "scenario.clock = \"real\"");
  refused("furl", "topology.nodes=3", "1", "topology.nodes");
  refused("centralized", "", "1", "pooled data");
  refused("furl", "scenario.clock=virtual", "119-200",
          "furlong: --without: client 200 does not exist; name clients from 0 to 119\n");
  refused("furl", "scenario.clock=virtual", "nodes 1", "names no clients");
  const auto secret = folder / "secret";
  const auto noisy =
      run_furlong(folder, {"run", small_scenario(folder, "furl", 2).string(), "--out", secret.string(), "--set",
                           "privacy.clip=1.0", "--set", "privacy.noise=1.0", "--set", "privacy.noise_key=secret",
                           "--set", "algorithm.aggregation.rule=uniform-mean", "--set", "scenario.clock=virtual"});
  BOOST_REQUIRE_MESSAGE(noisy.code == 0, noisy.err);
  const auto foreseen = run_furlong(folder, {"replay", secret.string(), "--without", "1"});
  BOOST_TEST(foreseen.code == 2);
  BOOST_TEST(foreseen.err.find("secret key") != std::string::npos, foreseen.err);
  const auto all = folder / "all";
  run(folder, small_scenario(folder, "furl", 2), all);
  const auto trains = training_clients(folder, all);
  int unseen = 0;
  while (std::ranges::find(trains, unseen) != trains.end()) ++unseen;
  const auto held_out = run_furlong(folder, {"replay", all.string(), "--without", std::to_string(unseen)});
  BOOST_TEST(held_out.code == 2);
  BOOST_TEST(held_out.err.find("does not train") != std::string::npos, held_out.err);
  for (const auto& out : {all, secret}) {
    const auto taken =
        run_furlong(folder, {"replay", all.string(), "--without", std::to_string(trains[0]), "--out", out.string()});
    BOOST_TEST(taken.code == 2);
    BOOST_TEST(taken.err == "furlong: " + out.string() +
                                ": the folder holds another run already; choose another folder with --out\n");
  }
  for (const auto& each : {std::vector<std::string>{}, std::vector<std::string>{"--each"}}) {
    std::vector<std::string> words = {"replay", all.string(),          "--without", std::to_string(trains[0]),
                                      "--out",  folder.path().string()};
    words.insert(words.end(), each.begin(), each.end());
    const auto taken = run_furlong(folder, words);
    BOOST_TEST(taken.code == 2);
    BOOST_TEST(taken.err.starts_with("furlong: " + folder.path().string() + ": the folder exists"), taken.err);
  }
  // With --each before any replay begins, and before a folder is made.
  for (const auto& [clients, why] : {std::pair(std::to_string(trains[0]) + ",5000", "client 5000 does not exist"),
                                     {std::to_string(trains[0]) + "," + std::to_string(unseen), "does not train"}}) {
    const auto each = run_furlong(folder, {"replay", all.string(), "--each", "--without", clients});
    BOOST_TEST(each.code == 2);
    BOOST_TEST(each.err.starts_with("furlong: --without: client "), each.err);
    BOOST_TEST(each.err.find(why) != std::string::npos, each.err);
    BOOST_TEST(!std::filesystem::exists(folder / "all-influence"));
  }
  const auto none = run_furlong(folder, {"replay", (folder / "nothing").string(), "--without", "1"});
  BOOST_TEST(none.code != 0);
}

BOOST_AUTO_TEST_SUITE_END()
