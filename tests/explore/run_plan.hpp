// Random runs of `[topology] nodes` with the scenario's own events, as `furlong run` carries them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "federated/settings/settings.hpp"

namespace furlong::tests {

struct run_plan {
  std::uint64_t seed = 1;
  federated::run_settings settings;  ///< its events are what goes wrong
  std::uint32_t losses = 0;          ///< of power everywhere: the run goes on from its last checkpoint
  bool promised = false;             ///< it ends with the model of the run without events, losses and nodes
};

[[nodiscard]] run_plan random_run(std::uint64_t seed);
[[nodiscard]] std::string text_of(const run_plan& what);
[[nodiscard]] std::string text_of(const federated::event_settings& what);

/// What is wrong with it, and how many tasks clients worked on.
struct run_findings {
  std::vector<std::string> failures;
  std::vector<std::string> trace;
  std::vector<std::string> evaluations;  ///< their figures, where nodes evaluate
  std::string model;                     ///< model_sha256 of the last version, or of the best
  std::uint64_t trainings = 0;
};
[[nodiscard]] run_findings play(const run_plan& what);

}  // namespace furlong::tests
