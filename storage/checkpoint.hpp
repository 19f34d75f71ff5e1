// The server's state on disk, so that a run goes on as if it had never stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "federated/protocol/server_state.hpp"
#include "models/layout.hpp"

namespace furlong::storage {

/// Replaces the checkpoint in `folder`. On return the new one is durable; a crash before that leaves the old one. The
/// folder appears with its first checkpoint in it: one without has lost it.
[[nodiscard]] result<void> write_checkpoint(const std::filesystem::path& folder,
                                            const federated::protocol::server_state& state);
/// Whether there is a checkpoint in `folder`, readable or not; so there is when that cannot be told.
[[nodiscard]] bool has_checkpoint(const std::filesystem::path& folder);
/// What a checkpoint is of, whatever its model.
struct checkpoint_origin {
  std::uint64_t run = 0;
  std::string data_sha256;  ///< as in the server's state
};
/// Whether that is what the caller wants.
using origin_check = std::function<result<void>(const checkpoint_origin&)>;

/// The layouts that a run's state has.
struct state_layouts {
  models::layout_ptr shared;  ///< of the model
  models::layout_ptr down;    ///< of the broadcasts of earlier versions
  models::layout_ptr server;  ///< of added tensors; null: there are none
  state_layouts(const models::partition& parts) : shared(parts.shared), down(parts.down), server(parts.server) {}
  state_layouts(models::layout_ptr of_model) : shared(of_model), down(std::move(of_model)) {}
};

/// The checkpoint in `folder`. Fails when it is missing, cut off, damaged in any bit, of another format, or of other
/// layouts than `layouts`. Whether it is of the right run is for `check` to say, before the layouts are
/// compared: another run or other data are a better reason than the tensors that follow from them.
[[nodiscard]] result<federated::protocol::server_state> read_checkpoint(const std::filesystem::path& folder,
                                                                        const state_layouts& layouts,
                                                                        const origin_check& check = {});

}  // namespace furlong::storage
