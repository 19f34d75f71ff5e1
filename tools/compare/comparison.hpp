// Configurations side by side: the mean of each figure over their runs, and what differs by more than the seeds do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/compare/configurations.hpp"
#include "tools/compare/numbers.hpp"
#include "tools/compare/statistics.hpp"
#include "tools/runs/run_record.hpp"
#include "tools/runs/scored_on.hpp"

namespace furlong::tools {

/// Which value of a figure is the better one.
enum class better : std::uint8_t { smaller, larger, neither };

/// A figure that runs are compared by.
struct compared_figure {
  std::string key;    ///< dotted key of summary.json, such as "eval.unseen.rmse"; of shares such as "bytes_up/report"
  std::string group;  ///< "unseen"; empty: stands alone
  std::string title;  ///< short: "RMSE"
  number_style style = number_style::plain;
  better when = better::neither;
  /// Of a run that counts; empty where it has none, infinite where a target was not reached.
  std::function<std::optional<double>(const run_record&)> value = {};
};

/// A figure of all configurations.
struct compared_column {
  compared_figure figure;
  std::vector<std::vector<seeded_value>> values;  ///< by configuration: of the runs that have the figure, by seed
  std::vector<std::vector<scored_facts>> facts;   ///< of the same runs
  std::vector<estimate> estimates;                ///< by configuration
  /// The configuration that is better than each other one that has the figure: the 95 % interval of every difference,
  /// paired by seed, excludes zero. Empty where that holds for none, as with one seed, and where figures of a seed were
  /// scored on different things.
  std::optional<std::size_t> best;
};

struct comparison {
  std::vector<configuration> configurations;
  std::vector<compared_column> columns;  ///< those that no counted run has a figure for are left out
};

/// Every metric of the final evaluations, also those that the model defines.
[[nodiscard]] std::vector<compared_figure> quality_figures(std::span<const run_record> runs);
/// Quality without what says the same twice, then time, participation, traffic and speed.
[[nodiscard]] std::vector<compared_figure> table_figures(std::span<const run_record> runs);
/// A number of summary.json by its dotted key, or one of table_figures().
[[nodiscard]] compared_figure figure_named(const std::string& key, std::span<const run_record> runs);

/// These figures of each group of clients (evaluation.client_groups) that a run has, figure by figure.
[[nodiscard]] std::vector<compared_figure> by_client_group(std::span<const run_record> runs,
                                                           const std::vector<compared_figure>& figures);

[[nodiscard]] comparison compare(std::span<const run_record> runs, const std::vector<compared_figure>& figures);

/// The differences of a configuration from a baseline, paired by seed. Runs that were scored on different things are no
/// pair.
[[nodiscard]] estimate difference_in(const compared_column& column, std::size_t baseline, std::size_t configuration);

/// A cell of a table: "0.8612", and "0.0013" where several runs have a spread; with the unit, and in brackets how many
/// of the runs have the figure if not all.
struct estimate_text {
  std::string mean;
  std::string spread;
  std::string unit;  ///< " %", " (2 of 3)"
};
[[nodiscard]] estimate_text text_of(const comparison& compared, const compared_column& column,
                                    std::size_t configuration);
/// The runs of a configuration that count: "3", "2 of 3, 1 diverged".
[[nodiscard]] std::string runs_text(std::span<const run_record> runs, const configuration& setup);
/// With select = "best": the rounds that the figures of a configuration are from, "40" or "38-52"; else empty.
[[nodiscard]] std::string best_rounds_text(std::span<const run_record> runs, const configuration& setup);
/// What a reader must know about the marks and about runs that do not count: plain text, a line each.
[[nodiscard]] std::vector<std::string> notes_on(std::span<const run_record> runs, const comparison& compared);

}  // namespace furlong::tools
