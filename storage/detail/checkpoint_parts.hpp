// Parts of a checkpoint: layouts of tensors, update limits, monitored losses and the progress of evaluations.
#pragma once

#include <capnp/blob.h>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "federated/state/server_state.hpp"
#include "models/parameters.hpp"
#include "storage/checkpoint.capnp.h"

namespace furlong::storage::detail {

/// An error (kind data) about an unusable checkpoint.
[[nodiscard]] tl::unexpected<error> unreadable(const std::filesystem::path& file, const std::string& reason);

void write(schema::Checkpoint::SizeCounts::Builder out, const federated::size_counts& counts);
[[nodiscard]] result<federated::size_history> read(schema::Checkpoint::SizeCounts::Reader reader,
                                                   const std::filesystem::path& file);

void write(schema::Checkpoint::LossWatch::Builder out, const federated::loss_watch& losses);
void write(schema::Checkpoint::Progress::Builder out, const federated::validation_progress& progress);
[[nodiscard]] federated::validation_progress read(schema::Checkpoint::Progress::Reader reader);
[[nodiscard]] result<federated::loss_watch> read(schema::Checkpoint::LossWatch::Reader reader,
                                                 const std::filesystem::path& file);

/// Compares a layout's signature with that of the run. The error names the first tensor that differs.
/// @param subject whose layout it is: "model"
[[nodiscard]] result<void> check_signature(capnp::Text::Reader found, const std::string& asked,
                                           std::string_view subject, const std::filesystem::path& file);

/// The algorithm's server tensors, of the state or of its best model. Without a layout, or with an empty one: none.
[[nodiscard]] result<models::shared_parameters> read_added(capnp::Data::Reader data, const models::layout_ptr& layout,
                                                           const std::filesystem::path& file);

}  // namespace furlong::storage::detail
