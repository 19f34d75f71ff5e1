// Output during a run: metrics, events, cohorts, checkpoints, progress.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "actors/unscored_warnings.hpp"
#include "federated/rounds/run_observer.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/progress.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// Keeps checkpoints of a run with its private store, which must outlive it.
struct checkpoint_keeper {
  const federated::private_store& store;
  std::size_t keep = 0;            ///< checkpoint.keep
  std::filesystem::path key_file;  ///< of an encrypted store
};

/// The observer of a run. A round's line is written at the next callback, so that it can include an evaluation.
class run_outputs {
 public:
  /// Opens the files, truncated to their lengths in `state`. Without a keeper no checkpoints are kept, and no cohorts
  /// are written: the server of a federation records of clients what it needs. `experiment` must outlive the object.
  [[nodiscard]] static result<std::unique_ptr<run_outputs>> open(const run_directory& folder,
                                                                 const federated::server_state& state,
                                                                 const federated::experiment& experiment,
                                                                 std::optional<checkpoint_keeper> keeper = {});
  /// Callbacks into this object, which must outlive them.
  [[nodiscard]] federated::run_observer observer();
  /// Writes the last line.
  [[nodiscard]] result<void> finish();

 private:
  run_outputs(const run_directory& folder, growing_file metrics, growing_file events, std::uint64_t done,
              const federated::experiment& experiment);
  [[nodiscard]] result<void> on_round(const federated::round_report& report);
  [[nodiscard]] result<void> on_evaluation(const federated::evaluation_report& report);
  [[nodiscard]] result<void> on_checkpoint(federated::server_state& state);
  [[nodiscard]] result<void> on_event(const federated::run_event& event);
  [[nodiscard]] result<void> write_pending();

  const federated::experiment& experiment_;
  const run_directory& folder_;
  growing_file metrics_;
  growing_file events_;
  std::optional<growing_file> cohorts_;
  std::optional<json> pending_;
  progress progress_;
  actors::unscored_warnings unscored_;
  std::optional<checkpoint_keeper> keeper_;
};

// The updates in each version, for audits of a federation: no update counts twice, and no acknowledged one is missing.

/// An append-only file of JSON lines. Each life of a run begins with {"life":N,"from":VERSION}: entries of earlier
/// lives about later versions are void. Each new version adds
/// {"life":N,"version":V,"folded":[[BASE,CLIENT,ATTEMPT],...]}, before the checkpoint that contains it. Lines are
/// durable when a call returns. Not thread-safe.
class fold_ledger {
 public:
  /// Opens the file, which may exist; removes an incomplete last line of a killed process.
  [[nodiscard]] static result<fold_ledger> open(const std::filesystem::path& path,
                                                const federated::server_state& state);
  [[nodiscard]] result<void> add(const federated::round_report& report);

 private:
  fold_ledger(growing_file file, std::uint64_t life) : file_(std::move(file)), life_(life) {}
  [[nodiscard]] result<void> append(const std::string& line);

  growing_file file_;
  std::uint64_t life_ = 0;
};

}  // namespace furlong::tools
