#include "storage/durable_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace furlong::storage {

namespace fs = std::filesystem;

namespace {

std::error_code sync_names(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return {};  // files may be created in this folder, but not listed
  const bool good = ::fsync(file) == 0;
  const std::error_code why(errno, std::generic_category());
  ::close(file);
  return good ? std::error_code() : why;
}

}  // namespace

std::error_code make_durable_folder(const fs::path& folder) {
  std::error_code failed;
  const auto plain = folder.has_filename() ? folder : folder.parent_path();  // "folder/"
  if (plain.empty() || fs::is_directory(plain, failed)) return {};
  const auto above = plain.has_parent_path() ? plain.parent_path() : fs::path(".");
  if (const auto why = make_durable_folder(above)) return why;
  fs::create_directory(plain, failed);
  return failed ? failed : sync_names(above);
}

}  // namespace furlong::storage
