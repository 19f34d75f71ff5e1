#include "tools/certs/files.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable_file.hpp"

namespace furlong::tools::certs {

namespace fs = std::filesystem;

namespace {

tl::unexpected<error> system_failure(const fs::path& path, const std::string& doing, int code = errno) {
  return fail(code == ENOSPC ? error::kind::runtime : error::kind::data, path.string(),
              "cannot " + doing + ": " + std::strerror(code),
              code == ENOSPC ? "free some space on the disk" : "check the path and its permissions");
}

/// By file_step.
constexpr std::array<const char*, 6> actions{"create the file",  "write the file",  "write the file",
                                             "replace the file", "open the folder", "make the folder durable"};

result<void> as_result(const file_outcome& outcome) {
  if (outcome) return {};
  const auto& [step, reason, path] = outcome.error();
  return system_failure(path, actions[static_cast<std::size_t>(step)], reason.value());
}

/// The given mode, whatever the umask.
file_mode mode_of(access reader) { return {static_cast<unsigned>(reader), true}; }

}  // namespace

result<void> create_file(const fs::path& file, const std::string& text, access reader) {
  auto created = create_durably(file, text, mode_of(reader));
  if (!created && created.error().step < file_step::open_path) created.error().path = file;  // not the temporary one
  return as_result(created);
}

result<void> replace_file(const fs::path& file, const std::string& text, access reader) {
  return as_result(replace_durably(file, text, mode_of(reader)));
}

result<void> create_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0) return system_failure(folder, "create the folder");
  return as_result(make_durable(folder_above(folder)));
}

result<staged_folder> staged_folder::begin(const fs::path& target) {
  auto plain = target.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();  // "folder/"
  std::error_code failed;
  const auto there = fs::symlink_status(plain, failed);
  if (fs::exists(there) && !(fs::is_directory(there) && fs::is_empty(plain, failed)))
    return fail(error::kind::usage, plain.string(), "exists already and is not an empty folder",
                "name another folder with --out");
  fs::create_directories(folder_above(plain), failed);
  if (failed)
    return fail(error::kind::data, folder_above(plain).string(), "cannot create the folder: " + failed.message(),
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
  const auto renamed = rename_durably(path_, target_);
  if (!renamed && renamed.error().step == file_step::rename)
    return system_failure(target_, "create the folder", renamed.error().reason.value());
  path_.clear();
  return as_result(renamed);
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
