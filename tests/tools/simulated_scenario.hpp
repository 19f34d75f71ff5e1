// Scenarios that make virtual time as hard as it gets: everything that can go wrong does, all the time.
#pragma once

#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

namespace furlong::tests {

/// What differs between the scenarios; TOML, without the tables' headers.
struct simulated_parts {
  std::string name;
  std::string algorithm;      ///< kind
  std::string own;            ///< [private]
  std::string participation;  ///< [participation]
  std::string availability;   ///< [devices] availability
  int rounds = 30;
};

/// Joins, departures with and without erasure, kills, restarts and partitions, by round and by time.
inline constexpr auto wild_events = R"(
[[event]]
at = "0s"
partition = "90-94"
[[event]]
at = "round 3"
join = "0-9"
[[event]]
at = "40s"
kill = 0.3
[[event]]
at = "90s"
partition = 0.25
[[event]]
at = "150s"
restart = 0.9
[[event]]
at = "round 8"
leave = "20-39"
erase = true
[[event]]
at = "200s"
heal = "0-119"
[[event]]
at = "260s"
restart = "0-119"
[[event]]
at = "round 14"
join = "20-29"
[[event]]
at = "round 16"
leave = 0.1
erase = true
[[event]]
at = "round 18"
join = "0-119"
)";

/// Writes one: 120 users, of whom 96 train, over three aggregators, a checkpoint every fourth round.
inline std::filesystem::path simulated_scenario(const scratch_folder& folder, const simulated_parts& of) {
  const auto file = folder / (of.name + ".toml");
  std::ofstream(file) << "[scenario]\nname = \"" << of.name << "\"\nrounds = " << of.rounds
                      << "\n[data]\nsource = \"synthetic-ratings\"\nusers = 120\nitems = 60\nrank = 2\n"
                         "ratings_per_user = 20\nsplit = [0.8, 0.1, 0.1]\n"
                         "unseen_users = {validation = 0.1, test = 0.1}\n"
                         "[model]\nkind = \"matrix-factorization\"\nrank = 4\nuser_bias = true\nitem_bias = true\n"
                         "mean = true\ninitial_mean = 3.5\nprivate = [\"user\", \"user_bias\"]\n"
                         "[algorithm]\nkind = \""
                      << of.algorithm
                      << "\"\nclient = {lr = 0.05, batch_size = 4}\nreconstruction = {lr = 0.1, epochs = 2}\n"
                         "[private]\n"
                      << of.own << "\n[participation]\n"
                      << of.participation
                      << "\n[devices]\nspeed = {ms_per_example = 60, sigma = 1.0}\n"
                         "network = {mbit = 0.05, latency = 0.2}\nstragglers = {share = 0.2, factor = 5}\n"
                         "availability = "
                      << of.availability
                      << "\n[dropout]\ndownload = 0.1\ntrain = 0.2\nupload = 0.2\n"
                         "[topology]\naggregators = 3\n[evaluation]\nevery = 10\n[checkpoint]\nevery = 4\n"
                      << wild_events;
  return file;
}

inline simulated_parts wild_sync(int rounds = 30) {
  return {"sync",
          "furl",
          "cold_start = \"reconstruct\"",
          "per_round = 12\nover_selection = 1.5\ndeadline = 25\nmin_reports = 3\nselection_timeout = 30\nretry = 7\n"
          "reconnect = [5, 30]",
          "{kind = \"markov\", rate = 0.6, mean_online = 60, step = 5}",
          rounds};
}
inline simulated_parts wild_fedbuff(int rounds = 30) {
  return {"fedbuff",
          "furl",
          "cold_start = \"reconstruct\"\ncommit = \"after-ack\"\nlayout = \"bucketed\"",
          "mode = \"async\"\nbuffer = 6\nconcurrency = 24\nmax_staleness = 4\nretry = 7\npolicy = \"least-recent\"",
          "{kind = \"diurnal\", rate = 0.5, dwell = 60}",
          rounds};
}
inline simulated_parts wild_fedasync(int rounds = 30) {
  return {"fedasync",
          "furl",
          "commit = \"after-training\"\nlayout = \"per-client\"\nopen_shards = 1",
          "mode = \"async\"\nupdate = \"model\"\nconcurrency = 16\nweighting = \"hinge\"\nhinge_from = 2\nretry = 7\n"
          "policy = \"power-of-choice\"",
          "{kind = \"markov\", rate = 0.6, mean_online = 60, step = 5}",
          rounds};
}

/// What summary.json says that does not depend on this machine and this moment.
inline nlohmann::json lasting_facts(const std::filesystem::path& run) {
  auto summary = summary_of(run);
  for (const char* key : {"wall_seconds", "cpu_seconds", "train_seconds", "train_cpu_seconds", "clients_per_second",
                          "examples_per_second", "peak_rss_bytes"})
    summary.erase(key);
  return summary;
}

inline std::vector<std::string> run_words(const std::filesystem::path& scenario, const std::filesystem::path& out,
                                          const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run", scenario.string(), "--out", out.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline void expect_same_run(const std::filesystem::path& a, const std::filesystem::path& b) {
  BOOST_TEST(lasting_facts(a) == lasting_facts(b));
  BOOST_TEST(read_file(a / "metrics.jsonl") == read_file(b / "metrics.jsonl"));
  BOOST_TEST(read_file(a / "events.jsonl") == read_file(b / "events.jsonl"));
  BOOST_TEST(read_file(a / "cohorts.jsonl") == read_file(b / "cohorts.jsonl"));
}

/// A run is only hard when these happened.
inline void expect_it_was_hard(const std::filesystem::path& run) {
  const auto summary = summary_of(run);
  std::uint64_t settled = summary["folded"].get<std::uint64_t>();
  for (const char* part : {"late", "surplus", "abandoned", "in_flight"}) settled += summary[part].get<std::uint64_t>();
  for (const char* part : {"rejected", "dropped"})
    for (const auto& [reason, count] : summary[part].items()) settled += count.get<std::uint64_t>();
  BOOST_TEST(summary["selected"] == settled);
  for (const char* stage : {"download", "train", "upload"}) BOOST_TEST(summary["dropped"][stage].get<int>() > 0, stage);
  BOOST_TEST(summary["folded"].get<int>() > 60);
  const auto events = read_file(run / "events.jsonl");
  for (const char* word : {"join", "leave", "kill", "restart", "partition", "heal"})
    BOOST_TEST(events.find("\"event\":\"" + std::string(word) + '"') != std::string::npos, word);
}

}  // namespace furlong::tests
