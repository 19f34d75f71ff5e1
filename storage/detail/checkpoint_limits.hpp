// Update limits, monitored losses and the progress of evaluations in a checkpoint.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "federated/protocol/server_state.hpp"
#include "storage/checkpoint.capnp.h"

namespace furlong::storage::detail {

/// An error (kind data) about an unusable checkpoint.
[[nodiscard]] tl::unexpected<error> unreadable(const std::filesystem::path& file, const std::string& reason);

void write(schema::Checkpoint::SizeCounts::Builder out, const federated::size_counts& counts);
[[nodiscard]] result<federated::size_history> read(schema::Checkpoint::SizeCounts::Reader in,
                                                   const std::filesystem::path& file);

void write(schema::Checkpoint::LossWatch::Builder out, const federated::protocol::loss_watch& losses);
void write(schema::Checkpoint::Progress::Builder out, const federated::protocol::validation_progress& progress);
[[nodiscard]] federated::protocol::validation_progress read(schema::Checkpoint::Progress::Reader in);
[[nodiscard]] result<federated::protocol::loss_watch> read(schema::Checkpoint::LossWatch::Reader in,
                                                           const std::filesystem::path& file);

}  // namespace furlong::storage::detail
