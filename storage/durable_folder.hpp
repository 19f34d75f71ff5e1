// Folders that survive a power failure.
#pragma once

#include <filesystem>
#include <system_error>

namespace furlong::storage {

/// Creates a folder and its missing parents; an existing folder is no error. The names of the created folders are
/// durable on return: files synced in a folder are lost if its name is.
[[nodiscard]] std::error_code make_durable_folder(const std::filesystem::path& folder);

}  // namespace furlong::storage
