// What a run writes while it goes on: metrics, events, checkpoints, progress.
#pragma once

#include <optional>

#include "tools/cli/json.hpp"
#include "tools/cli/progress.hpp"
#include "tools/cli/run_directory.hpp"

namespace furlong::tools {

/// The observer of a run. A round's line is written when the next thing happens, so that an evaluation can join it.
class run_outputs {
 public:
  /// Opens the files, cut back to where `from` left them.
  [[nodiscard]] static result<std::unique_ptr<run_outputs>> open(const run_directory& folder,
                                                                 const federated::protocol::server_state& from,
                                                                 std::uint64_t rounds);
  /// Callbacks into this object, which must outlive them.
  [[nodiscard]] federated::run_observer observer();
  /// Writes the last line.
  [[nodiscard]] result<void> finish();

 private:
  run_outputs(const run_directory& folder, growing_file metrics, growing_file events, std::uint64_t done,
              std::uint64_t rounds);
  [[nodiscard]] result<void> on_round(const federated::round_report& report);
  [[nodiscard]] result<void> on_evaluation(const federated::evaluation_report& report);
  [[nodiscard]] result<void> on_checkpoint(federated::protocol::server_state& state);
  [[nodiscard]] result<void> write_pending();

  const run_directory& folder_;
  growing_file metrics_;
  growing_file events_;
  std::optional<json> pending_;
  progress progress_;
};

}  // namespace furlong::tools
