// The folder of a sweep:
//
//   DIR/NAME-key=value-...-seed=N/   a run directory per run
//   DIR/logs/RUN.toml, .stdout, .stderr   the scenario that the run was started with, and what it printed
//   DIR/sweep.json, sweep.csv        a row per run, rewritten whenever a run ends; of a tuning tune.json
//   DIR/report.html                  all finished runs compared
//
// Runs outside of the grid are left unchanged and do not appear in the tables.
//
// Data digests of a sweep's runs, each computed once.
#pragma once

#include <filesystem>
#include <map>
#include <tuple>

#include "scenarios/schema/scenario.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace furlong::tools {

/// Reads data, computes their digests and caches them. Not thread-safe.
class known_data {
 public:
  /// The digest of the current data. Fails as load_data() does.
  [[nodiscard]] result<data_digest> current_digest(const scenarios::scenario& scenario);

 private:
  /// Determines the files: the source, its options, the files of the devices.
  using key =
      std::tuple<std::string, std::map<std::string, option_value, std::less<>>, std::vector<std::filesystem::path>>;
  std::map<key, data_digest> known_;
};

/// A run of the sweep with its scenario.
struct sweep_run {
  sweep_row row;
  std::filesystem::path file;  ///< of its scenario, before the grid's values
  std::string resolved;
};

class sweep_folder {
 public:
  enum class kind : std::uint8_t { sweep, tuning };
  /// Creates the folder, or opens that of an earlier one of its kind, and locks out others until this object is
  /// destroyed. Fails (kind usage) if the folder has other content, or another process has the lock.
  [[nodiscard]] static result<sweep_folder> open(const std::filesystem::path& root, kind purpose = kind::sweep);

  [[nodiscard]] std::filesystem::path run(const sweep_run& entry) const { return root_ / entry.row.run; }
  [[nodiscard]] std::filesystem::path log(const sweep_run& entry, const char* extension) const {
    return root_ / "logs" / (entry.row.run + extension);
  }
  [[nodiscard]] std::filesystem::path json_file() const { return root_ / "sweep.json"; }
  [[nodiscard]] std::filesystem::path tune_file() const { return root_ / "tune.json"; }
  [[nodiscard]] std::filesystem::path csv_file() const { return root_ / "sweep.csv"; }
  [[nodiscard]] std::filesystem::path report() const { return root_ / "report.html"; }

  /// Reads the state of a run: finished, failed, or still to be run or resumed. Fails (kind usage) if its folder has
  /// other content than this run, or it is finished and the code of its class has changed since, (kind data) if the
  /// data have.
  /// @param accepts_code also if it was computed with other code of its class
  [[nodiscard]] result<void> recall(sweep_run& entry, known_data& data, bool accepts_code) const;
  /// Writes the scenario of a run, and returns the child process that begins it or goes on with it.
  /// @param threads of the run
  /// @param accepts_code go on with other code of its class
  /// @param stop_after the round after which it is evaluated and stopped; 0: none
  [[nodiscard]] result<child_run> child_of(const sweep_run& entry, std::size_t threads, bool accepts_code,
                                           std::uint64_t stop_after = 0) const;
  /// Reads the outcome of a run by a child process.
  void take(sweep_run& entry, int code) const;
  /// Writes sweep.json and sweep.csv.
  [[nodiscard]] result<void> write_tables(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows) const;

 private:
  explicit sweep_folder(std::filesystem::path root) : root_(root), lock_(std::move(root)) {}
  void read_summary(sweep_run& entry) const;

  std::filesystem::path root_;
  run_directory lock_;
};

}  // namespace furlong::tools
