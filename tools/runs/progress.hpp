// The progress of a run on stderr: on a terminal one line that is redrawn, with a small curve of a figure, otherwise a
// line at intervals.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "federated/rounds/run_observer.hpp"

namespace furlong::tools {

/// Values as characters of a line, the least as the lowest bar and the greatest as the highest; without `unicode` as
/// the digits 0 to 7. At most `most` characters: of more values every n-th, and the last. Those that are not finite are
/// blank.
[[nodiscard]] std::string curve_text(const std::vector<double>& values, std::size_t most, bool unicode);

/// Not thread-safe.
class progress {
 public:
  /// `done` of `total` rounds are already complete.
  /// @param metric of the curve, "seen.rmse"; empty: the first that evaluations have. Before any, the training loss.
  progress(std::uint64_t done, std::uint64_t total, std::string metric = {});
  void on_round(const federated::round_report& report);
  void on_evaluation(const federated::evaluation_report& report);
  /// Removes the redrawn line.
  void finish();

 private:
  using clock = std::chrono::steady_clock;
  void draw(const federated::round_report& report, double seconds) const;
  /// The curve, preceded by blanks, if `room` columns are enough for it.
  [[nodiscard]] std::string curve(std::size_t room) const;

  bool terminal_;
  std::uint64_t first_;
  std::uint64_t total_;
  std::string metric_;
  std::uint64_t clients_ = 0;
  std::vector<double> losses_;   ///< of the rounds, until there are figures
  std::vector<double> figures_;  ///< of the evaluations
  clock::time_point begun_;
  clock::time_point drawn_;
};

}  // namespace furlong::tools
