// Folders that a loss of power does not take away.
#pragma once

#include <filesystem>
#include <system_error>

namespace furlong::storage {

/// Creates a folder and what is missing above it. Fine when it exists. The names of those that it created are durable
/// on return: what is synced in a folder is lost with the folder's name.
[[nodiscard]] std::error_code make_durable_folder(const std::filesystem::path& folder);

}  // namespace furlong::storage
