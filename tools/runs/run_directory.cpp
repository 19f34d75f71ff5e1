#include "tools/runs/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "storage/durable_folder.hpp"

namespace furlong::tools {

namespace {

tl::unexpected<error> io_failure(const std::filesystem::path& path, const std::string& reason, int code = errno) {
  return fail(error::kind::runtime, path.string(), reason + ": " + std::strerror(code),
              code == ENOSPC   ? "free some space on the disk"
              : code == ENOENT ? "make the folder first, or name another"
                               : "check the folder's permissions and free space");
}

/// By file_step.
constexpr std::array<const char*, 6> step_problems{"cannot be opened", "cannot be written",
                                                   "cannot be synced", "cannot be renamed into place",
                                                   "cannot be opened", "cannot be synced"};

}  // namespace

result<growing_file> growing_file::open(const std::filesystem::path& path, std::uint64_t length) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  if (fd < 0) return io_failure(path, "cannot be opened");
  const auto present = ::lseek(fd, 0, SEEK_END);
  if (present >= 0 && static_cast<std::uint64_t>(present) < length) {
    ::close(fd);
    return fail(error::kind::data, path.string(),
                "has " + std::to_string(present) + " bytes where the checkpoint counts " + std::to_string(length),
                "put the file back as it was");
  }
  if (::ftruncate(fd, static_cast<off_t>(length)) != 0 || ::lseek(fd, 0, SEEK_END) < 0) {
    ::close(fd);
    return io_failure(path, "cannot be cut to " + std::to_string(length) + " bytes");
  }
  growing_file file;
  file.path_ = path;
  file.file_.reset(::fdopen(fd, "a"));
  file.length_ = length;
  if (!file.file_) return io_failure(path, "cannot be opened");
  return file;
}

result<void> growing_file::append(const std::string& line) {
  const auto bytes = line + "\n";
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    return io_failure(path_, "cannot be written");
  length_ += bytes.size();
  return {};
}

result<std::uint64_t> growing_file::sync() {
  if (std::fflush(file_.get()) != 0 || ::fdatasync(::fileno(file_.get())) != 0)
    return io_failure(path_, "cannot be synced");
  return length_;
}

result<atomic_file> atomic_file::begin(const std::filesystem::path& path) {
  auto file = durable_file::begin(path, {0644});
  if (file) return atomic_file(std::move(*file));
  return io_failure(path, step_problems[0], file.error().reason.value());
}

result<void> atomic_file::append(std::string_view bytes) { return as_result(file_.write(bytes)); }

result<void> atomic_file::commit() { return as_result(file_.replace()); }

result<void> atomic_file::as_result(const file_outcome& outcome) {
  // A folder may have no right to be listed.
  if (outcome || outcome.error().step == file_step::open_path) return {};
  const auto& [step, reason, path] = outcome.error();
  return io_failure(path, step_problems[static_cast<std::size_t>(step)], reason.value());
}

bool run_directory::vacant() const {
  std::error_code gone;
  return !std::filesystem::exists(root_, gone) || std::filesystem::is_empty(root_, gone);
}

bool run_directory::is_of_run() const {
  if (std::filesystem::exists(scenario())) return true;
  std::error_code gone;
  const auto begun = scenario().filename().string() + ".new";
  return std::ranges::all_of(std::filesystem::directory_iterator(root_, gone), [&](const auto& entry) {
    const auto name = entry.path().filename().string();
    return name == log().filename() || name == begun;
  });
}

result<void> run_directory::create(const std::string& otherwise) const {
  std::error_code gone;
  if (std::filesystem::exists(root_, gone) && !std::filesystem::is_directory(root_, gone))
    return fail(error::kind::usage, root_.string(), "is not a folder", "name another folder with --out");
  if (!vacant())
    return fail(error::kind::usage, root_.string(), "the folder exists and is not empty",
                "name another folder with --out" + otherwise);
  if (const auto why = storage::make_durable_folder(root_))
    return fail(error::kind::runtime, root_.string(), "cannot be made: " + why.message(),
                "name another folder with --out");
  return {};
}

result<void> run_directory::reopen() const {
  for (const auto& file : {report(), summary()}) {
    std::error_code why;
    std::filesystem::remove(file, why);
    if (why) return fail(error::kind::runtime, file.string(), "cannot be removed: " + why.message());
  }
  return {};
}

void run_directory::unlocker::operator()(const int* descriptor) const {
  ::close(*descriptor);  // releases the lock
  delete descriptor;
}

result<void> run_directory::lock() {
  const int fd = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_failure(root_, "cannot be opened");
  lock_.reset(new int(fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    return fail(error::kind::usage, root_.string(), "another process is running here", "wait for it, or stop it");
  return {};
}

result<void> write_atomically(const std::filesystem::path& path, const std::string& text) {
  return write_bytes_atomically(path, text + "\n");
}

result<void> write_bytes_atomically(const std::filesystem::path& path, std::string_view bytes) {
  return atomic_file::begin(path).and_then([&](atomic_file file) -> result<void> {
    if (auto written = file.append(bytes); !written) return written;
    return file.commit();
  });
}

}  // namespace furlong::tools
