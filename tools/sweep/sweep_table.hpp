// Results of a sweep: sweep.json and sweep.csv.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/sweep/grid.hpp"

namespace furlong::tools {

/// State of a run of the sweep.
enum class run_status : std::uint8_t {
  waiting,  ///< not started, or stopped before its end
  done,
  failed  ///< see `why`
};

/// One run of a sweep.
struct sweep_row {
  std::string run;       ///< its folder's name
  std::string scenario;  ///< its name
  grid_point point;
  run_status status = run_status::waiting;
  std::string why;                 ///< reason of a failure
  int code = 0;                    ///< exit code, if it ran this time
  nlohmann::ordered_json summary;  ///< of a run with a summary.json, otherwise null
};

/// The names of the rows' scenarios, each once, in order.
[[nodiscard]] std::vector<std::string> scenarios_of(const std::vector<sweep_row>& rows);
/// {"scenario", "scenarios": [name...], "grid": {key: [value...]}, "tied": [[key...]...], "runs": [{"run", "scenario",
/// "status", "seed", "grid": {key: value}, "why", "figures"}]}: scenario is the first one, tied the keys that change
/// together, figures all numbers and texts of summary.json by dotted key, without lists.
[[nodiscard]] nlohmann::ordered_json sweep_json(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows);
/// One line per run: run, status, seed, with several scenarios their name, the grid's keys, then all figures of any
/// run. Quoted as in RFC 4180; no line break after the last line.
[[nodiscard]] std::string sweep_csv(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows);
// Parts of these.

/// {key: [value...]}
[[nodiscard]] nlohmann::ordered_json grid_json(const std::vector<grid_axis>& axes);
/// [[key...]...]: the keys that change together.
[[nodiscard]] nlohmann::ordered_json tied_json(const std::vector<grid_axis>& axes);
/// {key: value}
[[nodiscard]] nlohmann::ordered_json point_json(const std::vector<grid_axis>& axes, const grid_point& point);

}  // namespace furlong::tools
