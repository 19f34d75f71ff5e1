// Runs with parts that do not keep their contracts.
#pragma once

#include <atomic>
#include <regex>
#include <string>
#include <vector>

#include "federated/settings/participation.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "tests/support/worlds.hpp"

namespace furlong::tests {

/// What a run says when it fails; empty: it did not. All engines must say the same.
[[nodiscard]] inline std::string failure_of(const federated::experiment& e) {
  using namespace federated;
  std::vector<std::string> said;
  const auto note = [&](const result<run_outcome>& outcome) { said.push_back(outcome ? "" : outcome.error().text()); };
  for (const bool simulated : {true, false}) {
    storage::memory_store store(e.parts.private_);
    recorder recorder;
    const auto observer = recorder.observer();
    const std::atomic<bool> stop = false;
    if (simulated) {
      note(simulate(e, initial_state(e), store, observer, stop));
      BOOST_TEST((said.back().empty() || !recorder.checkpoint));  // the state in the middle of a round is none to keep
    } else if (e.settings.participation->mode == participation_mode::sync) {
      note(run_reference(e, store, observer));
    }
  }
  // Which of the clients of a round is the first to fail is up to the engine.
  const auto common = [](const std::string& text) {
    return std::regex_replace(text, std::regex("client [0-9]+"), "a client");
  };
  for (const auto& one : said) BOOST_TEST(common(one) == common(said.front()));
  return said.front();
}

/// The same in a simulated federation of three nodes.
[[nodiscard]] inline std::string failure_over_nodes(federated::experiment e) {
  e.settings.topology->nodes = 3;
  e.settings.checkpoint_every = 1;
  storage::memory_store store(e.parts.private_);
  recorder recorder;
  const auto observer = recorder.observer();
  const std::atomic<bool> stop = false;
  const auto outcome = simulate(e, initial_state(e), store, observer, stop);
  return outcome ? std::string() : outcome.error().text();
}

/// Checks that a message has these words.
inline void check_says(const std::string& said, const std::string& expected) {
  BOOST_TEST(said.find(expected) != std::string::npos, "\"" << said << "\" does not say: " << expected);
}

}  // namespace furlong::tests
