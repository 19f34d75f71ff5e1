// Runs in virtual time that are killed, or stopped, and resumed on another number of threads end with the bytes of a
// run that was not.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "tests/tools/simulated_scenario.hpp"

BOOST_AUTO_TEST_SUITE(command_virtual_time_killed)

using namespace furlong::tests;
using nlohmann::json;

namespace {

/// Kills a run again and again, on a random number of threads each time, until it was hit `hits` times.
struct killing {
  int hits = 0;
  int resumable = 0;  ///< hits that found a checkpoint

  void kill(const scratch_folder& folder, const std::filesystem::path& scenario, const std::filesystem::path& out,
            std::chrono::milliseconds length, int wanted, std::uint32_t seed) {
    std::mt19937 random(seed);
    const std::vector<std::string> threads = {"1", "2", "4"};
    const int before = hits;
    for (int i = 0; i < 6 * wanted && hits < before + wanted; ++i) {
      furlong_process process(folder, run_words(scenario, out, {"--threads", threads[random() % 3], "--resume"}));
      std::this_thread::sleep_for(length * std::uniform_int_distribution(5, 60)(random) / 100);
      process.send(SIGKILL);
      const int code = process.wait();
      if (code == 128 + SIGKILL) {
        ++hits;
        resumable += std::filesystem::exists(out / "checkpoint/checkpoint.furlong") ? 1 : 0;
      } else {
        BOOST_REQUIRE_MESSAGE(code == 0, process.err());
        std::filesystem::remove_all(out);  // it was done before it could be hit
      }
    }
  }
};

struct timed_run {
  timed_run(const scratch_folder& folder, const std::filesystem::path& scenario, const std::filesystem::path& out,
            const std::vector<std::string>& more = {}) {
    const auto begun = std::chrono::steady_clock::now();
    const auto done = run_furlong(folder, run_words(scenario, out, more));
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
    length = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  }
  std::chrono::milliseconds length{};
};

/// A client's private values as they lie in a file: the floats of its longest tensor.
std::string bytes_of_client(const scratch_folder& folder, const std::filesystem::path& run, int client) {
  const auto shown =
      run_furlong(folder, {"store", "show", run.string(), "--client", std::to_string(client), "--format", "json"});
  BOOST_REQUIRE_MESSAGE(shown.code == 0, shown.err);
  const auto values = json::parse(shown.out)["tensors"]["user"].get<std::vector<float>>();
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

bool holds(const std::filesystem::path& folder, const std::string& bytes) {
  return std::ranges::any_of(std::filesystem::recursive_directory_iterator(folder), [&](const auto& entry) {
    return entry.is_regular_file() && read_file(entry.path()).find(bytes) != std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(kills_at_random_moments_change_nothing) {
  const scratch_folder folder;
  killing all;
  auto buffered = wild_fedbuff(400);
  buffered.own += "\nkey_file = \"" + (folder / "key").string() + '"';
  for (const auto& of : {wild_sync(200), buffered, wild_fedasync(1200)}) {
    BOOST_TEST_CONTEXT(of.name) {
      const auto scenario = simulated_scenario(folder, of);
      const auto whole = folder / (of.name + "-whole");
      const auto killed = folder / (of.name + "-killed");
      const timed_run timed(folder, scenario, whole, {"--threads", "2"});
      all.kill(folder, scenario, killed, timed.length, 6, 7);
      const auto last = run_furlong(folder, run_words(scenario, killed, {"--threads", "1", "--resume"}));
      BOOST_REQUIRE_MESSAGE(last.code == 0, last.err);
      expect_same_run(whole, killed);
      expect_it_was_hard(whole);
    }
  }
  BOOST_TEST(all.hits >= 15);
  BOOST_TEST(all.resumable >= 8);
}

BOOST_AUTO_TEST_CASE(interrupts_change_nothing) {
  const scratch_folder folder;
  int stops = 0;
  for (const auto& of : {wild_sync(150), wild_fedbuff(300)}) {
    BOOST_TEST_CONTEXT(of.name) {
      const auto scenario = simulated_scenario(folder, of);
      const auto whole = folder / (of.name + "-whole");
      const auto stopped = folder / (of.name + "-stopped");
      const timed_run timed(folder, scenario, whole, {"--threads", "2"});
      for (int i = 0; i < 3; ++i) {
        furlong_process process(folder,
                                run_words(scenario, stopped, {"--threads", i % 2 == 0 ? "4" : "1", "--resume"}));
        std::this_thread::sleep_for(timed.length / 3);
        process.send(SIGINT);
        const int code = process.wait();
        // Before the run has begun a signal ends the process, and after its end there is nothing to stop.
        BOOST_TEST((code == 5 || code == 0 || code == 128 + SIGINT), process.err());
        stops += code == 5 ? 1 : 0;
      }
      const auto last = run_furlong(folder, run_words(scenario, stopped, {"--threads", "2", "--resume"}));
      BOOST_REQUIRE_MESSAGE(last.code == 0, last.err);
      expect_same_run(whole, stopped);
    }
  }
  BOOST_TEST(stops >= 2);
}

BOOST_AUTO_TEST_CASE(a_killed_run_leaves_no_trace_of_whom_it_erases) {
  const scratch_folder folder;
  for (const std::string layout : {"per-client", "bucketed"}) {
    BOOST_TEST_CONTEXT(layout) {
      auto of = wild_sync(160);
      of.name = "erase-" + layout;
      of.own = "layout = \"" + layout + '"';
      of.participation = "per_round = 24\ndeadline = 60";
      const auto scenario = simulated_scenario(folder, of);
      auto text = read_file(scenario);
      text.resize(text.find("[[event]]"));
      const auto stays = folder / ("stays-" + layout + ".toml");
      std::ofstream(stays) << text;
      const auto run = folder / ("stays-" + layout);
      const timed_run timed(folder, stays, run);
      // The client that will be erased: one that trained early, whose values then are known from a shorter run.
      const auto begun = folder / ("begun-" + layout);
      const timed_run short_run(folder, stays, begun, {"--set", "scenario.rounds=40"});
      const auto listed = run_furlong(folder, {"store", "ls", begun.string(), "--format", "json"});
      const int client = json::parse(listed.out)["clients"].at(0)["client"].get<int>();
      const auto secret = bytes_of_client(folder, begun, client);
      BOOST_TEST(holds(begun / "private", secret));

      std::ofstream(scenario) << text << "[[event]]\nat = \"round 41\"\nleave = \"" << client << "\"\nerase = true\n";
      const auto whole = folder / ("whole-" + layout);
      const auto killed = folder / ("killed-" + layout);
      const timed_run again(folder, scenario, whole);
      killing kills;
      kills.kill(folder, scenario, killed, again.length, 5, 11);
      const auto last = run_furlong(folder, run_words(scenario, killed, {"--threads", "2", "--resume"}));
      BOOST_REQUIRE_MESSAGE(last.code == 0, last.err);
      BOOST_TEST(kills.hits == 5);
      expect_same_run(whole, killed);
      BOOST_TEST(!holds(whole, secret));
      BOOST_TEST(!holds(killed, secret));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
