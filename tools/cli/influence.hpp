// The influence of single clients on the evaluation of a run, by leave-one-out replays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tools/cli/command_options.hpp"
#include "tools/runs/figures_json.hpp"

namespace furlong::tools {

struct replay_options {
  std::filesystem::path run;
  std::vector<std::string> without;  ///< "17" or "20-25"
  bool each = false;                 ///< without each of them, one by one
  std::filesystem::path out;         ///< empty: beside the run
  std::size_t threads = 0;           ///< 0: one per core; with `each` 1
  std::size_t jobs = 0;              ///< with `each`, replays at once; 0: one per core
  output_format format = output_format::text;
  std::string log_level = "info";
};

/// A figure of the evaluations of a run and of its replay, both without the removed clients.
struct influence_figure {
  std::string name;  ///< "unseen.rmse"
  double with = 0.0;
  double without = 0.0;
};
/// Those that both evaluations of a replay.json have, but for counts.
[[nodiscard]] std::vector<influence_figure> influence_figures(const json& replay);

/// `furlong replay RUN --without CLIENTS --each`: a replay without each client, as child processes. Writes
/// influence.csv and report.html to options.out, prints the table, and returns the exit code. Replays that have ended
/// before are kept.
int measure_influence(const replay_options& options, std::span<const std::uint32_t> clients);

}  // namespace furlong::tools
