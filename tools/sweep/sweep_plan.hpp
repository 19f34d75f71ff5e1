// What a sweep or a tuning runs: every combination of values of some keys, of one or more scenarios, with every seed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sweep/grid.hpp"
#include "tools/sweep/sweep_folder.hpp"

namespace furlong::tools {

constexpr std::string_view note_word = "note: ";

/// The notes about the scenarios of a sweep: each is printed once, to stderr, however many runs it is about.
class sweep_notes {
 public:
  /// Collects the notes of a run that has not started.
  void add(const std::string& run, const std::vector<std::string>& notes);
  [[nodiscard]] bool empty() const { return notes_.empty(); }
  /// Prints what was collected, with the runs that it is about unless these are all.
  void print(std::size_t runs, std::string_view word = note_word) const;
  /// Prints those notes of a run that were not printed before: what depends on the data is noted when it runs.
  void print_new(const std::string& run, const std::vector<std::string>& notes);

 private:
  struct about {
    std::string first;  ///< run
    std::size_t runs = 0;
  };
  std::vector<std::pair<std::string, about>> notes_;
};

/// The notes that a run printed to stderr.
[[nodiscard]] std::vector<std::string> notes_in(const std::string& output);

/// Runs that are all valid.
struct sweep_plan {
  std::vector<grid_axis> axes;
  std::vector<sweep_run> runs;  ///< by scenario, combination and seed
  sweep_notes notes;

  [[nodiscard]] std::vector<sweep_row> rows() const;
  /// A run's name in the report; empty: it is the only configuration.
  [[nodiscard]] std::string label(const sweep_run& entry) const;
};

/// Prints the problems of options to stderr. Returns the exit code.
int report_all(const std::vector<error>& problems);

/// Reads and checks the scenarios of all runs, also against their data where these are there. Prints every problem
/// once, to stderr; returns nothing if there is any.
[[nodiscard]] std::optional<sweep_plan> make_plan(const sweep_request& request);

/// The overrides of a run's scenario, with its seed.
[[nodiscard]] std::vector<scenarios::setting_override> overrides_for(const sweep_request& request,
                                                                     const std::vector<grid_axis>& axes,
                                                                     const grid_point& point);

}  // namespace furlong::tools
