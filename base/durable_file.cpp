#include "base/durable_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace furlong {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t buffer_bytes = 1 << 16;

tl::unexpected<file_failure> failure(file_step step, const fs::path& path, int code) {
  return tl::unexpected(file_failure{step, {code, std::generic_category()}, path});
}

/// Creates a file that is there for the first time, whatever its name was used for before.
int create_fresh(const fs::path& path, mode_t mode) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;  // O_EXCL follows no link
  const int descriptor = ::open(path.c_str(), flags, mode);
  if (descriptor >= 0 || errno != EEXIST || ::unlink(path.c_str()) != 0) return descriptor;
  return ::open(path.c_str(), flags, mode);
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

tl::expected<durable_file, file_failure> durable_file::begin(fs::path path, file_mode mode, const std::string& suffix) {
  auto temporary = path;
  temporary += suffix;
  const int descriptor = create_fresh(temporary, mode.exact ? mode.bits & 0700 : mode.bits);
  if (descriptor < 0) return failure(file_step::create, temporary, errno);
  durable_file file(std::move(path), std::move(temporary), descriptor);
  if (mode.exact && ::fchmod(descriptor, mode.bits) != 0) return failure(file_step::write, file.temporary_, errno);
  return file;
}

durable_file::durable_file(fs::path path, fs::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

durable_file::durable_file(durable_file&& source) noexcept
    : path_(std::move(source.path_)),
      temporary_(std::exchange(source.temporary_, {})),
      descriptor_(std::exchange(source.descriptor_, -1)),
      buffer_(std::move(source.buffer_)) {}

durable_file::~durable_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

file_outcome durable_file::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() < buffer_bytes) {
    buffer_ += bytes;
    return {};
  }
  if (auto flushed = flush(); !flushed) return flushed;
  if (!write_all(descriptor_, bytes)) return failure(file_step::write, temporary_, errno);
  return {};
}

file_outcome durable_file::flush() {
  if (!write_all(descriptor_, buffer_)) return failure(file_step::write, temporary_, errno);
  buffer_.clear();
  return {};
}

file_outcome durable_file::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (::fsync(descriptor_) != 0) return failure(file_step::sync, temporary_, errno);
  return {};
}

file_outcome durable_file::rename() {
  auto renamed = rename_durably(temporary_, path_);
  if (renamed || renamed.error().step != file_step::rename) temporary_.clear();
  return renamed;
}

file_outcome durable_file::replace() {
  return finish().and_then([&] { return rename(); });
}

file_outcome durable_file::create() {
  if (auto finished = finish(); !finished) return finished;
  // Of several processes that create the file, the first link succeeds.
  if (::link(temporary_.c_str(), path_.c_str()) == 0) {
    ::unlink(std::exchange(temporary_, {}).c_str());
    return make_durable(folder_above(path_));
  }
  const int code = errno;
  const bool no_links = code == EPERM || code == EOPNOTSUPP || code == ENOSYS;  // FAT, some network file systems
  if (!no_links) return failure(file_step::create, path_, code);
  std::error_code unknown;
  if (fs::exists(fs::symlink_status(path_, unknown))) return failure(file_step::create, path_, EEXIST);
  return rename();
}

std::string process_suffix() { return "." + std::to_string(::getpid()) + ".new"; }

file_outcome replace_durably(const fs::path& path, std::string_view content, file_mode mode) {
  auto file = durable_file::begin(path, mode);
  if (!file) return tl::unexpected(file.error());
  return file->write(content).and_then([&] { return file->replace(); });
}

file_outcome create_durably(const fs::path& path, std::string_view content, file_mode mode) {
  auto file = durable_file::begin(path, mode, process_suffix());
  if (!file) return tl::unexpected(file.error());
  return file->write(content).and_then([&] { return file->create(); });
}

file_outcome rename_durably(const fs::path& source, const fs::path& target) {
  if (::rename(source.c_str(), target.c_str()) != 0) return failure(file_step::rename, target, errno);
  return make_durable(folder_above(target));
}

file_outcome make_durable(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failure(file_step::open_path, path, errno);
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0) return failure(file_step::sync_path, path, code);
  return {};
}

fs::path folder_above(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace furlong
