// Compares the tensors of a checkpoint with those of the run.
#pragma once

#include <capnp/blob.h>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "models/parameters.hpp"

namespace furlong::storage::detail {

/// Compares a layout's signature with that of the run. The error names the first tensor that differs.
/// @param what the layout is of: "model"
[[nodiscard]] result<void> check_signature(capnp::Text::Reader found, const std::string& asked, std::string_view what,
                                           const std::filesystem::path& file);

/// The algorithm's server tensors, of the state or of its best model. Without a layout, or with an empty one: none.
[[nodiscard]] result<models::shared_parameters> read_added(capnp::Data::Reader from, const models::layout_ptr& layout,
                                                           const std::filesystem::path& file);

}  // namespace furlong::storage::detail
