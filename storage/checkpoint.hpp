// The server state on disk: a resumed run continues as if it had not stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "federated/state/server_state.hpp"
#include "models/layout.hpp"

namespace furlong::storage {

/// Replaces the checkpoint in `folder`. On return the new one is durable; a crash before that keeps the old one. The
/// folder is created together with its first checkpoint: a folder without a checkpoint has lost it.
[[nodiscard]] result<void> write_checkpoint(const std::filesystem::path& folder, const federated::server_state& state);
/// Copies the checkpoint in `source` to a folder that does not exist; durable on return.
[[nodiscard]] result<void> copy_checkpoint(const std::filesystem::path& source, const std::filesystem::path& target);
/// True if `folder` has a checkpoint, readable or not; also if this cannot be determined.
[[nodiscard]] bool has_checkpoint(const std::filesystem::path& folder);
/// Identifies the run, the data and the code of a checkpoint, independent of its model.
struct checkpoint_origin {
  std::uint64_t run = 0;
  std::string data_sha256;  ///< as in the server's state
  std::string code;         ///< likewise
};
/// Accepts or rejects the origin of a checkpoint.
using origin_check = std::function<result<void>(const checkpoint_origin&)>;

/// The tensor layouts of a run's state.
struct state_layouts {
  models::layout_ptr shared;  ///< of the model
  models::layout_ptr down;    ///< of the broadcasts of earlier versions
  models::layout_ptr server;  ///< of added tensors; null: none
  state_layouts(const models::partition& parts) : shared(parts.shared), down(parts.down), server(parts.server) {}
  state_layouts(models::layout_ptr of_model) : shared(of_model), down(std::move(of_model)) {}
};

/// Reads the checkpoint in `folder`. Fails if it is missing, truncated, damaged in any bit, of another format, or of
/// layouts other than `layouts`. `check` runs before the layouts are compared: a different run or different data is a
/// better reason than the tensors that follow from them.
[[nodiscard]] result<federated::server_state> read_checkpoint(const std::filesystem::path& folder,
                                                              const state_layouts& layouts,
                                                              const origin_check& check = {});

}  // namespace furlong::storage
