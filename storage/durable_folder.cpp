#include "storage/durable_folder.hpp"

#include "base/durable_file.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;

namespace {

std::error_code sync_names(const fs::path& folder) {
  const auto synced = make_durable(folder);
  const bool fails = !synced && synced.error().step == file_step::sync_path;  // a folder may have no right to be listed
  return fails ? synced.error().reason : std::error_code();
}

}  // namespace

std::error_code make_durable_folder(const fs::path& folder) {
  std::error_code failed;
  const auto plain = folder.has_filename() ? folder : folder.parent_path();  // "folder/"
  if (plain.empty() || fs::is_directory(plain, failed)) return {};
  const auto above = folder_above(plain);
  if (const auto why = make_durable_folder(above)) return why;
  fs::create_directory(plain, failed);
  return failed ? failed : sync_names(above);
}

}  // namespace furlong::storage
