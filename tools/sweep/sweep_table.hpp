// What a sweep found out: sweep.json, sweep.csv and the table on stdout.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/sweep/grid.hpp"

namespace furlong::tools {

/// How far a run of the sweep has come.
enum class run_status : std::uint8_t {
  waiting,  ///< not begun, or stopped before its end
  done,
  failed  ///< see `why`
};

/// One run of a sweep.
struct sweep_row {
  std::string run;  ///< its folder's name
  grid_point point;
  run_status status = run_status::waiting;
  std::string why;                 ///< it failed
  int code = 0;                    ///< its exit code, when it ran this time
  nlohmann::ordered_json summary;  ///< of a run with a summary.json, else null
};

/// {"scenario", "grid": {key: [value...]}, "runs": [{"run", "status", "seed", "grid": {key: value}, "why",
/// "figures"}]}: figures are all numbers and texts of summary.json by dotted key, lists left out.
[[nodiscard]] nlohmann::ordered_json sweep_json(const std::string& scenario, const std::vector<grid_axis>& axes,
                                                const std::vector<sweep_row>& rows);
/// A line per run: run, status, seed, the grid's keys, then every figure that some run has. Quoted as RFC 4180 says; no
/// line break after the last line.
[[nodiscard]] std::string sweep_csv(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows);
/// A line per combination: the mean over its seeds, and with two or more +- their sample standard deviation; of how
/// many runs. Those that failed are told and left out. A figure that not all of the others have, such as the time to a
/// target that was not reached, says how many have it. Warns of perplexities that are none.
[[nodiscard]] std::string sweep_table(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows);

}  // namespace furlong::tools
