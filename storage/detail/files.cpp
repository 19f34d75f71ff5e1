#include "storage/detail/files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/durable_file.hpp"
#include "storage/durable_folder.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

/// An open file descriptor.
struct descriptor {
  int number = -1;
  explicit descriptor(int n) : number(n) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
};

tl::unexpected<error> system_failure(const fs::path& path, const std::string& doing, int code = errno) {
  return fail(code == ENOENT || code == EACCES ? error::kind::data : error::kind::runtime, path.string(),
              "cannot " + doing + ": " + std::strerror(code),
              code == ENOSPC ? "free disk space" : "check that the path exists and its permissions");
}

/// By file_step.
constexpr std::array<const char*, 6> actions{"create the file",           "write the file", "make the file durable",
                                             "rename the new file to it", "open the path",  "make the path durable"};

result<void> as_result(const file_outcome& outcome) {
  if (outcome) return {};
  const auto& [step, reason, path] = outcome.error();
  return system_failure(path, actions[static_cast<std::size_t>(step)], reason.value());
}

std::string_view text_of(std::span<const std::byte> content) {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

constexpr file_mode owner_alone{0600};

}  // namespace

result<std::string> read_file(const fs::path& path) {
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0) return system_failure(path, "open the file");
  struct stat facts {};
  if (::fstat(file.number, &facts) != 0) return system_failure(path, "read the file");
  std::string content(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const auto got = ::read(file.number, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path, "read the file");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

result<void> replace_file(const fs::path& path, std::span<const std::byte> content) {
  return as_result(replace_durably(path, text_of(content), owner_alone));
}

result<void> rename_path(const fs::path& source, const fs::path& target) {
  return as_result(rename_durably(source, target));
}

result<void> create_private_file(const fs::path& path, std::span<const std::byte> content) {
  if (is_there(path))
    return fail(error::kind::usage, path.string(), "the file already exists", "choose another name, or move it away");
  return as_result(create_durably(path, text_of(content), owner_alone));
}

result<void> sync_path(const fs::path& path) { return as_result(make_durable(path)); }

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() != fs::file_type::not_found;
}

result<std::vector<fs::path>> files_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    paths.push_back(entry->path());
  if (!failed) return paths;
  return fail(failed == std::errc::no_such_file_or_directory ? error::kind::data : error::kind::runtime,
              folder.string(), "cannot list the folder: " + failed.message(), "check that it exists and is readable");
}

result<void> snapshot_folder(const fs::path& source, const fs::path& target) {
  const auto entries = files_in(source);
  if (!entries) return tl::unexpected(entries.error());
  if (auto made = make_folder(target, durability::later); !made) return made;
  for (const auto& file : *entries) {
    const auto name = file.filename().string();
    std::error_code failed;
    if (name == "LOCK" || name.starts_with("LOG") || !fs::is_regular_file(file, failed)) continue;
    if (file.extension() == ".sst") fs::create_hard_link(file, target / name, failed);
    if (file.extension() != ".sst" || failed) fs::copy_file(file, target / name, failed);
    if (failed)
      return fail(error::kind::runtime, (target / name).string(), "cannot be written: " + failed.message(),
                  failed == std::errc::no_space_on_device ? "free some space on the disk" : "");
  }
  return sync_folder(target);
}

result<void> sync_folder(const fs::path& folder) {
  const auto entries = files_in(folder);
  if (!entries) return tl::unexpected(entries.error());
  std::error_code ignored;
  for (const auto& path : *entries)
    if (fs::is_regular_file(path, ignored))
      if (auto synced = sync_path(path); !synced) return synced;
  return sync_path(folder);
}

result<void> make_folder(const fs::path& folder, durability moment) {
  std::error_code failed;
  if (moment == durability::at_once)
    failed = make_durable_folder(folder);
  else
    fs::create_directories(folder, failed);
  if (failed)
    return fail(error::kind::data, folder.string(), "cannot create the folder: " + failed.message(),
                "check the path and its permissions");
  return {};
}

result<void> remove_folder(const fs::path& folder) {
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (failed) return fail(error::kind::runtime, folder.string(), "cannot delete the folder: " + failed.message());
  return {};
}

folder_lock::~folder_lock() {
  if (file_ >= 0) ::close(file_);
}

result<folder_lock> folder_lock::take(const fs::path& folder, bool shared) {
  const auto path = folder / "LOCK";
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 && shared) file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // a store on a read-only medium
  if (file < 0) return system_failure(path, "open the lock file");
  folder_lock lock(file);
  if (::flock(file, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return system_failure(path, "lock the folder");
  return fail(error::kind::runtime, folder.string(), "another process is using this store",
              "wait until it ends, or stop it");
}

}  // namespace furlong::storage::detail
