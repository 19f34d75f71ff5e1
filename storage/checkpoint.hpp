// The server's state on disk, so that a run goes on as if it had never stopped.
#pragma once

#include <filesystem>

#include "federated/protocol/server_state.hpp"
#include "models/layout.hpp"
#include "models/result.hpp"

namespace furlong::storage {

/// Replaces the checkpoint in `folder` (created when missing). On return the new one is durable; a crash before that
/// leaves the old one.
[[nodiscard]] result<void> write_checkpoint(const std::filesystem::path& folder,
                                            const federated::protocol::server_state& state);
/// Whether there is a checkpoint in `folder`, readable or not.
[[nodiscard]] bool has_checkpoint(const std::filesystem::path& folder);
/// The checkpoint in `folder`. Fails when it is missing, cut off, damaged in any bit, of another format, or of another
/// shared layout than `shared_layout`. Whether it is of the right run is the caller's to check.
[[nodiscard]] result<federated::protocol::server_state> read_checkpoint(const std::filesystem::path& folder,
                                                                        const models::layout_ptr& shared_layout);

}  // namespace furlong::storage
