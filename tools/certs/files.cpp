#include "tools/certs/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace furlong::tools::certs {

namespace fs = std::filesystem;

namespace {

tl::unexpected<error> system_failure(const fs::path& path, const std::string& doing) {
  const int code = errno;
  return fail(code == ENOSPC ? error::kind::runtime : error::kind::data, path.string(),
              "cannot " + doing + ": " + std::strerror(code),
              code == ENOSPC ? "free some space on the disk" : "check the path and its permissions");
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

result<void> sync_folder(const fs::path& folder) {
  const int open = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (open < 0) return system_failure(folder, "open the folder");
  const bool good = ::fsync(open) == 0;
  const int code = errno;
  ::close(open);
  errno = code;
  return good ? result<void>{} : system_failure(folder, "make the folder durable");
}

/// The given mode, whatever the umask.
bool write_all(int file, std::string_view text, access readers) {
  while (!text.empty()) {
    const auto written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fchmod(file, static_cast<mode_t>(readers)) == 0 && ::fsync(file) == 0;
}

result<void> write_new(const fs::path& path, const std::string& text, access readers, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (file < 0) return system_failure(path, "create the file");
  const bool good = write_all(file, text, readers);
  const int code = errno;
  ::close(file);
  errno = code;
  return good ? result<void>{} : system_failure(path, "write the file");
}

}  // namespace

result<void> create_file(const fs::path& file, const std::string& text, access readers) {
  if (auto written = write_new(file, text, readers, O_EXCL); !written) return written;
  return sync_folder(folder_of(file));
}

result<void> replace_file(const fs::path& file, const std::string& text, access readers) {
  fs::path temporary = file;
  temporary += ".new";
  if (auto written = write_new(temporary, text, readers, O_TRUNC | O_NOFOLLOW); !written) return written;
  if (::rename(temporary.c_str(), file.c_str()) != 0) return system_failure(file, "replace the file");
  return sync_folder(folder_of(file));
}

result<void> create_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0) return system_failure(folder, "create the folder");
  return sync_folder(folder_of(folder));
}

result<staged_folder> staged_folder::begin(const fs::path& target) {
  auto plain = target.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();  // "folder/"
  std::error_code failed;
  const auto there = fs::symlink_status(plain, failed);
  if (fs::exists(there) && !(fs::is_directory(there) && fs::is_empty(plain, failed)))
    return fail(error::kind::usage, plain.string(), "exists already and is not an empty folder",
                "name another folder with --out");
  fs::create_directories(folder_of(plain), failed);
  if (failed)
    return fail(error::kind::data, folder_of(plain).string(), "cannot create the folder: " + failed.message(),
                "check the path and its permissions");
  auto pattern = plain.string() + ".XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return system_failure(plain, "create the folder");
  return staged_folder(pattern, plain);
}

staged_folder::staged_folder(staged_folder&& source) noexcept
    : path_(std::exchange(source.path_, {})), target_(std::move(source.target_)) {}

staged_folder::~staged_folder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

result<void> staged_folder::commit() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) return system_failure(target_, "create the folder");
  path_.clear();
  return sync_folder(folder_of(target_));
}

result<folder_lock> folder_lock::take(const fs::path& folder) {
  const int open = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (open < 0) return system_failure(folder, "open the folder");
  folder_lock lock(open);
  while (::flock(open, LOCK_EX) != 0)
    if (errno != EINTR) return system_failure(folder, "lock the folder");
  return lock;
}

folder_lock::~folder_lock() {
  if (descriptor_ >= 0) ::close(descriptor_);  // which gives the lock back
}

}  // namespace furlong::tools::certs
