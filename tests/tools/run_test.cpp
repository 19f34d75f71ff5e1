// furlong run: outputs, exit codes, and equal results whatever the engine and the number of threads.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>
#include <sys/stat.h>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_run)

using namespace furlong::tests;

namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::uint64_t sum_of(const nlohmann::json& by_reason) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : by_reason.items()) sum += count.get<std::uint64_t>();
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_command_lines_are_refused_with_code_2) {
  const scratch_folder folder;
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {"fly"},
                                                                 {"run"},
                                                                 {"run", "x.toml", "--threads", "0"},
                                                                 {"run", "x.toml", "--set", "no-equals-sign"},
                                                                 {"run", "x.toml", "--log-level", "loud"},
                                                                 {"infer", "runs/x"},
                                                                 {"infer", "runs/x", "--client", "1", "--ratings", "f"},
                                                                 {"store", "erase", "runs/x"}}) {
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 2);
    BOOST_TEST(!done.err.empty());
  }
  BOOST_TEST(run_furlong(folder, {"--version"}).out.starts_with("furlong "));
  BOOST_TEST(run_furlong(folder, {"run", "--help"}).code == 0);
}

BOOST_AUTO_TEST_CASE(broken_scenarios_and_data_write_nothing) {
  const scratch_folder folder;
  const std::string prefix = "tests/scenarios/broken/";
  ::setenv("FURLONG_DATA", "tests/scenarios/broken", 1);
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/scenarios/broken")) {
    if (entry.path().extension() != ".toml") continue;
    BOOST_TEST_CONTEXT(entry.path().string()) {
      const auto out = folder / "run";
      const auto done = run_furlong(folder, {"run", entry.path().string(), "--out", out.string()});
      auto expected = entry.path();
      expected.replace_extension(".expected");
      BOOST_TEST(done.code == (entry.path().filename().string().starts_with("data-") ? 3 : 2));
      BOOST_TEST(done.out.empty());
      BOOST_TEST(!std::filesystem::exists(out));
      std::istringstream messages(read_file(expected));
      // The messages beside it name files from their own folder.
      auto said = done.err;
      for (auto at = said.find(prefix); at != std::string::npos; at = said.find(prefix)) said.erase(at, prefix.size());
      for (std::string line; std::getline(messages, line);) BOOST_TEST(said.find(line) != std::string::npos, line);
      ++cases;
    }
  }
  ::unsetenv("FURLONG_DATA");
  BOOST_TEST(cases >= 20U);
}

BOOST_AUTO_TEST_CASE(a_run_leaves_what_it_promises) {
  const scratch_folder folder;
  const auto run = folder / "run";
  const auto scenario = small_scenario(folder, "furl").string();
  const auto done = run_furlong(folder, {"run", scenario, "--out", run.string()});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  for (const char* name : {"scenario.toml", "metrics.jsonl", "events.jsonl", "summary.json", "checkpoint", "private",
                           "log.txt", "report.html"})
    BOOST_TEST(std::filesystem::exists(run / name), name);
  const auto summary = summary_of(run);
  for (const char* key : {"furlong",
                          "scenario",
                          "seed",
                          "algorithm",
                          "model",
                          "kernel_level",
                          "kernel_levels",
                          "rounds",
                          "model_sha256",
                          "private_sha256",
                          "wall_seconds",
                          "cpu_seconds",
                          "train_seconds",
                          "virtual_seconds",
                          "clients_trained",
                          "clients_per_second",
                          "examples_per_second",
                          "bytes_up",
                          "bytes_down",
                          "selected",
                          "folded",
                          "rejected",
                          "late",
                          "surplus",
                          "dropped",
                          "abandoned",
                          "in_flight",
                          "peak_rss_bytes",
                          "private_clients",
                          "state_lost",
                          "private_staleness",
                          "eval"})
    BOOST_TEST(summary.contains(key), key);
  BOOST_TEST(summary["rounds"] == 20);
  BOOST_TEST(summary["selected"] == 400);
  BOOST_TEST(summary["folded"].get<std::uint64_t>() + sum_of(summary["rejected"]) == 400U);
  BOOST_TEST(summary["private_clients"].get<int>() > 80);
  for (const char* group : {"validation", "seen", "unseen"}) BOOST_TEST(summary["eval"][group]["rmse"].is_number());
  BOOST_TEST(summary["bytes_up"].get<std::uint64_t>() > 400U * 60 * 4 * 4);
  BOOST_TEST(lines_of(read_file(run / "metrics.jsonl")) == 20U);

  const auto again = run_furlong(folder, {"run", scenario, "--out", run.string()});
  BOOST_TEST(again.code == 2);
  BOOST_TEST(again.err.find("not empty") != std::string::npos);
  // The resolved scenario is a scenario, and the same run.
  const auto resolved = run_furlong(
      folder, {"run", (run / "scenario.toml").string(), "--out", (folder / "again").string(), "--format", "json"});
  BOOST_REQUIRE_MESSAGE(resolved.code == 0, resolved.err);
  BOOST_TEST(nlohmann::json::parse(resolved.out)["model_sha256"] == summary["model_sha256"]);
}

BOOST_AUTO_TEST_CASE(compression_changes_what_it_says_whatever_the_engine) {
  const scratch_folder folder;
  for (const std::string kind : {"furl", "fedrecon"}) {
    const auto scenario = small_scenario(folder, kind).string();
    const auto run = [&](const std::string& compression, const std::vector<std::string>& words) {
      const auto out = folder / "run";
      std::vector<std::string> all{"run",        scenario, "--out",
                                   out.string(), "--set",  "network.compression=" + compression};
      all.insert(all.end(), words.begin(), words.end());
      const auto done = run_furlong(folder, all);
      BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
      auto found = summary_of(out);
      std::filesystem::remove_all(out);
      return found;
    };
    const auto none = run("none", {});
    const auto ratio = [&](const nlohmann::json& of, const char* key) {
      return of[key].get<double>() / none[key].get<double>();
    };
    for (const std::string compression : {"zstd", "float16", "float16+zstd", "int8", "int8+zstd"}) {
      BOOST_TEST_CONTEXT(kind << ", " << compression) {
        const auto found = run(compression, {"--threads", "3"});
        const bool lossless = compression == "zstd";
        BOOST_TEST((found["model_sha256"] == none["model_sha256"]) == lossless);
        BOOST_TEST((found["eval"] == none["eval"]) == lossless);
        BOOST_TEST((found["private_sha256"] == none["private_sha256"]) == (lossless || kind == "fedrecon"));
        BOOST_TEST(found["virtual_seconds"].get<double>() <= none["virtual_seconds"].get<double>());
        const double most = lossless ? 0.999 : compression.starts_with("float16") ? 0.65 : 0.45;
        BOOST_TEST(ratio(found, "bytes_up") <= most);
        BOOST_TEST(ratio(found, "bytes_down") <= most + 0.05);
        const double rmse = found["eval"]["seen"]["rmse"].get<double>();
        BOOST_TEST(std::abs(rmse - none["eval"]["seen"]["rmse"].get<double>()) < 0.05);
        const auto reference = run(compression, {"--engine", "reference"});
        for (const char* key : {"model_sha256", "private_sha256", "eval", "bytes_up", "bytes_down", "folded"})
          BOOST_TEST(found[key] == reference[key], key);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_was_not_sent_survives_a_resumption) {
  const scratch_folder folder;
  for (const std::string upload : {"dense", "sparse"}) {
    const auto scenario = small_scenario(folder, "furl").string();
    const auto run = [&](const std::string& to, const std::vector<std::string>& words) {
      std::vector<std::string> all{"run",   scenario,
                                   "--out", (folder / (upload + to)).string(),
                                   "--set", "network.compression=int8",
                                   "--set", "network.upload=" + upload};
      all.insert(all.end(), words.begin(), words.end());
      const auto done = run_furlong(folder, all);
      BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
      return summary_of(folder / (upload + to));
    };
    const auto whole = run("whole", {});
    run("parts", {"--set", "scenario.rounds=7"});
    const auto resumed = run("parts", {"--resume", "--set", "network.compression=int8+zstd"});  // zstd may change
    for (const char* key : {"model_sha256", "private_sha256", "eval"}) BOOST_TEST(whole[key] == resumed[key], key);
  }
}

BOOST_AUTO_TEST_CASE(threads_aggregators_engine_and_resumption_do_not_change_a_bit) {
  const scratch_folder folder;
  for (const std::string kind : {"furl", "fedrep", "fedalt", "fedbabu", "fedrecon", "fedavg", "ditto", "pfedme", "apfl",
                                 "scaffold", "feddyn", "centralized"}) {
    const auto scenario = small_scenario(folder, kind).string();
    nlohmann::json first;
    int number = 0;
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"--threads", "1"},
                                               {"--threads", "2"},
                                               {"--threads", "4", "--set", "topology.aggregators=3"},
                                               {"--engine", "reference"},
                                               {"--engine", "reference", "--set", "scenario.clock=real"},
                                               {"--resume"}}) {
      const auto run = folder / (kind + std::to_string(number++));
      if (words.front() == "--resume")
        BOOST_REQUIRE(
            run_furlong(folder, {"run", scenario, "--out", run.string(), "--set", "scenario.rounds=7"}).code == 0);
      std::vector<std::string> line = {"run", scenario, "--out", run.string()};
      line.insert(line.end(), words.begin(), words.end());
      const auto done = run_furlong(folder, line);
      BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
      const auto summary = summary_of(run);
      if (first.is_null()) first = summary;
      for (const char* key : {"model_sha256", "private_sha256", "eval", "folded", "bytes_up"})
        BOOST_TEST_CONTEXT(kind << " " << key) BOOST_TEST(summary[key] == first[key]);
    }
  }
}

BOOST_AUTO_TEST_CASE(more_clients_than_exact_sums_hold_are_refused) {
  const scratch_folder folder;
  const auto out = folder / "run";
  const auto done = run_furlong(folder, {"run", small_scenario(folder, "fedatt").string(), "--out", out.string(),
                                         "--set", "data.users=6000", "--set", "participation.per_round=4500"});
  BOOST_TEST(done.code == 2);
  BOOST_TEST(done.err.find("at most 4096") != std::string::npos);
  BOOST_TEST(!std::filesystem::exists(out));
}

BOOST_AUTO_TEST_CASE(a_resume_that_would_lose_private_values_is_refused) {
  const scratch_folder folder;
  const auto run = folder / "run";
  const auto scenario = small_scenario(folder, "furl").string();
  BOOST_REQUIRE(run_furlong(folder, {"run", scenario, "--out", run.string()}).code == 0);
  std::filesystem::remove_all(run / "checkpoint");
  const auto done = run_furlong(folder, {"run", scenario, "--out", run.string(), "--resume"});
  BOOST_TEST(done.code == 3);
  BOOST_TEST(std::filesystem::exists(run / "private"));
}

BOOST_AUTO_TEST_CASE(a_run_directory_has_one_process_at_a_time) {
  const scratch_folder folder;
  const auto out = folder / "run";
  const auto scenario = small_scenario(folder, "fedrecon", 100000).string();
  furlong_process first(folder, {"run", scenario, "--out", out.string()});
  for (int i = 0; i < 60000 && !std::filesystem::exists(out / "metrics.jsonl"); ++i) ::usleep(1000);
  const scratch_folder elsewhere;
  const auto second = run_furlong(elsewhere, {"run", scenario, "--out", out.string(), "--resume"});
  first.send(SIGKILL);
  BOOST_TEST(first.wait() == 128 + SIGKILL);
  BOOST_TEST(second.code == 2);
  BOOST_TEST(second.err.find("another process") != std::string::npos);
}

// FedAtt's weights: of each tensor, one for each folded update, as shares of which 1 is an equal one.
BOOST_AUTO_TEST_CASE(attention_is_written_with_every_round_and_drawn) {
  const scratch_folder folder;
  const auto out = folder / "run";
  const auto done = run_furlong(folder, {"run", small_scenario(folder, "fedatt", 4).string(), "--out", out.string(),
                                         "--set", "evaluation.attention=true"});
  BOOST_REQUIRE(done.code == 0);
  std::istringstream lines(read_file(out / "metrics.jsonl"));
  std::string line;
  std::size_t rounds = 0;
  bool differ = false;
  while (std::getline(lines, line)) {
    ++rounds;
    const auto of = nlohmann::json::parse(line).at("attention");
    BOOST_TEST(of.at("clients").size() == 20U);
    BOOST_TEST(of.at("tensors").size() == 5U);
    for (const auto& tensor : of.at("tensors")) {
      const auto weights = tensor.at("weights").get<std::vector<double>>();
      BOOST_REQUIRE(weights.size() == 20U);
      double sum = 0.0;
      for (const auto weight : weights) sum += weight;
      BOOST_TEST(std::abs(sum / 20.0 - 1.0) < 1e-5);
      BOOST_TEST(tensor.at("min").get<double>() == std::ranges::min(weights));
      BOOST_TEST(tensor.at("max").get<double>() == std::ranges::max(weights));
      differ = differ || tensor.at("min") < tensor.at("max");
    }
  }
  BOOST_TEST(rounds == 4U);
  BOOST_TEST(differ);
  const auto page = folder / "page.html";
  BOOST_TEST(run_furlong(folder, {"report", out.string(), "--out", page.string()}).code == 0);
  BOOST_TEST(read_file(page).find("Weight of an update in item") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(stateless_runs_have_no_private_store) {
  const scratch_folder folder;
  for (const std::string kind : {"fedrecon", "fedbabu", "fedavg"}) {
    const auto run = folder / kind;
    BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, kind).string(), "--out", run.string()}).code == 0);
    BOOST_TEST(!std::filesystem::exists(run / "private"));
    BOOST_TEST(summary_of(run)["private_clients"] == 0);
  }
}

// What a scenario holds may come from anywhere: a terminal must not obey it.
BOOST_AUTO_TEST_CASE(messages_have_no_control_characters) {
  const scratch_folder folder;
  const auto raw = [](const std::string& text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; });
  };
  const auto odd = folder / "odd\x1b[31m.toml";
  std::ofstream(odd) << "[scenario]\nname = \"a\\u001b[2Jb\"\n\"sp\\u001b[1meed\" = 2\n";
  for (const char* command : {"validate", "run", "test", "sweep"}) {
    const auto done = run_furlong(folder, {command, odd.string()});
    BOOST_TEST(done.code == 2, command);
    BOOST_TEST(done.err.find("odd?[31m.toml") != std::string::npos, done.err);
    BOOST_TEST(!raw(done.err + done.out), command);
  }
  BOOST_TEST(!raw(run_furlong(folder, {"run", "\x1b[31mgone.toml"}).err));
  BOOST_TEST(!raw(run_furlong(folder, {"\x1b[31mrun"}).err));
  std::filesystem::rename(small_scenario(folder, "furl", 5), odd);
  BOOST_REQUIRE(run_furlong(folder, {"run", odd.string(), "--out", (folder / "o\x1b[31mut").string()}).code == 0);
  BOOST_TEST(!raw(read_file(folder / "o\x1b[31mut" / "log.txt")));
}

BOOST_AUTO_TEST_CASE(a_pipe_in_place_of_data_is_refused) {
  const scratch_folder folder;
  std::filesystem::create_directories(folder / "ml-1m");
  BOOST_REQUIRE(::mkfifo((folder / "ml-1m" / "ratings.dat").c_str(), 0600) == 0);
  ::setenv("FURLONG_DATA", folder.path().c_str(), 1);
  const auto done = run_furlong(folder, {"run", "scenarios/movielens-furl.toml", "--out", (folder / "run").string()});
  ::unsetenv("FURLONG_DATA");
  BOOST_TEST(done.code == 3);
  BOOST_TEST(done.err.find("is not a regular file") != std::string::npos, done.err);
}

BOOST_AUTO_TEST_CASE(store_ls_prints_one_object) {
  const scratch_folder folder;
  const auto out = folder / "run";
  BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--out", out.string()}).code == 0);
  const auto listed = run_furlong(folder, {"store", "ls", out.string(), "--format", "json"});
  const auto object = nlohmann::json::parse(listed.out);
  BOOST_REQUIRE(object.is_object());
  BOOST_TEST(object["clients"].size() == summary_of(out)["private_clients"].get<std::size_t>());
  BOOST_TEST(object["clients"][0]["version"].get<int>() >= 1);
  BOOST_TEST(object["shards"].get<int>() >= 1);
}

BOOST_AUTO_TEST_SUITE_END()
