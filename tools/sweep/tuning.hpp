// The state of a tuning: tune.json, the ranking, and the table on stdout.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/sweep/grid.hpp"
#include "tools/sweep/halving.hpp"
#include "tools/sweep/sweep_folder.hpp"

namespace furlong::tools {

/// A figure of a run when a rung ended.
struct rung_figure {
  std::uint64_t rounds = 0;     ///< of the rung
  std::optional<double> value;  ///< nothing: the run has no usable result
  std::uint64_t examples = 0;   ///< that it was scored on, of so many clients; 0: not known
  std::uint64_t clients = 0;
};

/// A run of a tuning: a setting with a seed.
struct tuned_run {
  sweep_run run;
  std::vector<rung_figure> figures;  ///< by rung, of those that it took part in
};

/// A combination of values.
struct tuned_setting {
  std::string label;
  std::vector<tuned_run> runs;  ///< by seed

  /// The mean over the seeds at the end of that rung; nothing if a run has none.
  [[nodiscard]] std::optional<double> figure(std::size_t rung) const;
  [[nodiscard]] std::size_t rungs() const;     ///< that all its runs have ended
  [[nodiscard]] std::uint64_t rounds() const;  ///< of each run; of different ones the most
};

struct tuning {
  std::string scenario;  ///< its name
  std::string metric;    ///< dotted key of summary.json: "eval.validation.rmse"
  bool smaller_is_better = true;
  halving_request halving;
  std::vector<std::uint64_t> seeds;
  std::vector<rung> rungs;
  std::vector<grid_axis> axes;
  std::vector<tuned_setting> settings;

  /// The indices of the settings of a rung: all, or the best of the rung before, in order of the settings.
  [[nodiscard]] std::vector<std::size_t> in_rung(std::size_t rung) const;
  /// The indices of all settings from the best to the worst: those that went further come first.
  [[nodiscard]] std::vector<std::size_t> order() const;
  /// Rounds that were trained, and those that training all settings whole would take.
  [[nodiscard]] std::uint64_t trained() const;
  [[nodiscard]] std::uint64_t whole() const { return halving.rounds * halving.seeds * halving.settings; }
  /// What a reader of the ranking must know: settings of a rung whose figures are of different numbers of examples or
  /// clients, a line for each rung.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

/// {"scenario", "metric", "smaller_is_better", "plan": {"seeds", "factor", "rounds", "budget", "rungs": [{"settings",
/// "rounds"}], "grid", "tied"}, "rounds_trained", "rounds_of_grid", "settings": [{"name", "grid", "rank", "rounds",
/// "figure", "runs": [{"run", "seed", "figures": [{"rounds", "value", "examples", "clients"}]}]}], "warnings", "best":
/// {"name", "grid", "figure", "scenario"}}. Values of figures are null without a usable result; best is there once the
/// tuning has ended.
[[nodiscard]] nlohmann::ordered_json tune_json(const tuning& state, bool ended);
/// Takes the figures of an earlier process from its tune.json. Fails (kind usage) if that is of another tuning.
[[nodiscard]] result<void> recall_figures(tuning& state, const nlohmann::ordered_json& before,
                                          const std::string& place);
/// One line per setting, the best first: its values, rounds, and figure.
[[nodiscard]] std::string tune_table(const tuning& state);

}  // namespace furlong::tools
