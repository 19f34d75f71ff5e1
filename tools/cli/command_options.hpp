// Options that several commands or files have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "tools/sweep/grid.hpp"

namespace furlong::tools {

enum class output_format : std::uint8_t { text, json };
enum class engine_kind : std::uint8_t { actors, reference };

struct run_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  std::optional<std::uint64_t> seed;
  std::filesystem::path out;  ///< empty: runs/NAME-SEED
  std::size_t threads = 0;    ///< 0: one per core
  bool resume = false;
  bool accept_changed_code = false;
  std::uint64_t stop_after = 0;  ///< the round after which the run is evaluated and stopped; 0: none
  engine_kind engine = engine_kind::actors;
  output_format format = output_format::text;
  std::string log_level = "info";
};

/// `--seed N`.
[[nodiscard]] inline scenarios::setting_override seed_override(std::uint64_t seed) {
  return {"scenario.seed", std::to_string(seed), "--seed"};
}

/// How the processes of a federation authenticate each other.
struct trust_options {
  std::filesystem::path tls;  ///< folder of `certs issue`; empty: insecure
  bool insecure = false;
  bool i_know = false;  ///< allow insecure beyond this machine
};

/// Many runs of scenarios: sweep and tune.
struct many_runs_options {
  sweep_request request;
  std::filesystem::path out;  ///< empty: runs/NAME-sweep, or runs/NAME-tune
  std::size_t jobs = 0;       ///< runs at once; 0: one per core
  std::size_t threads = 1;    ///< of each run
  bool accept_changed_code = false;
  output_format format = output_format::text;
};

}  // namespace furlong::tools
