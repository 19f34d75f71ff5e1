#include "tests/support/power_loss.hpp"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace furlong::tests {

namespace fs = std::filesystem;

namespace {

using bytes = std::shared_ptr<const std::string>;

struct entry {
  ino_t inode = 0;
  bool folder = false;
  friend bool operator==(const entry&, const entry&) = default;
};
using names = std::map<std::string, entry>;

/// A descriptor that keeps an inode's number from being used again.
class kept_inode {
 public:
  explicit kept_inode(const std::string& path) : file_(::open(path.c_str(), O_PATH | O_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("cannot watch " + path);
  }
  kept_inode(kept_inode&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~kept_inode() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  int file_;
};

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

names names_in(const std::string& folder) {
  names found;
  DIR* all = ::opendir(folder.c_str());
  if (all == nullptr) throw std::runtime_error("cannot list " + folder);
  while (const auto* one = ::readdir(all)) {
    const std::string name = one->d_name;
    struct stat facts {};
    if (name == "." || name == ".." || ::fstatat(::dirfd(all), one->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    found[name] = {facts.st_ino, S_ISDIR(facts.st_mode)};
  }
  ::closedir(all);
  return found;
}

constexpr std::size_t sector = 512;

thread_local bool inside = false;

/// While one lives, this thread's calls are not watched.
struct unwatched {
  bool before = std::exchange(inside, true);
  unwatched() = default;
  unwatched(const unwatched&) = delete;
  unwatched& operator=(const unwatched&) = delete;
  ~unwatched() { inside = before; }
};

}  // namespace

struct watched_disk::content {
  std::string root;
  std::function<void(const watched_disk&)> at_each;
  mutable std::recursive_mutex lock;
  std::map<ino_t, bytes> files;    // durable content; an inode without any has none
  std::map<ino_t, names> folders;  // durable names
  std::map<ino_t, kept_inode> kept;

  void keep(const std::string& path, ino_t inode) {
    if (!kept.contains(inode)) kept.emplace(inode, kept_inode(path));
  }

  /// What is here now is durable; with all below it, if asked.
  void note(const std::string& path, bool deep) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) throw std::runtime_error("cannot look at " + path);
    keep(path, facts.st_ino);
    if (!S_ISDIR(facts.st_mode)) {
      files[facts.st_ino] = std::make_shared<const std::string>(read_all(path));
      return;
    }
    folders[facts.st_ino] = names_in(path);
    for (const auto& [name, one] : folders[facts.st_ino]) {
      keep(path + "/" + name, one.inode);
      if (deep) note(path + "/" + name, true);
    }
  }

  /// Paths that the present tree has, by inode.
  void find_present(const std::string& folder, std::map<ino_t, std::string>& found) const {
    for (const auto& [name, one] : names_in(folder)) {
      found[one.inode] = folder + "/" + name;
      if (one.folder) find_present(folder + "/" + name, found);
    }
  }

  /// @param draws null: the durable content
  bytes content_of(ino_t inode, const std::map<ino_t, std::string>& present, random_stream* draws) const {
    static const auto nothing = std::make_shared<const std::string>();
    const auto at = files.find(inode);
    const auto old = at == files.end() ? nothing : at->second;
    const auto here = present.find(inode);
    if (here == present.end() || draws == nullptr || draws->below(2) == 0) return old;
    auto now = read_all(here->second);
    if (now.size() > old->size() && now.starts_with(*old) && draws->below(2) == 0) {
      const auto first = old->size() / sector;
      const auto last = now.size() / sector;
      const auto cut = sector * (first + draws->below(static_cast<std::uint32_t>(last - first + 1)));
      now.resize(std::max(old->size(), cut));
    }
    return std::make_shared<const std::string>(std::move(now));
  }

  /// @param named whether names are as they are now, not as they are durable
  void add(ino_t inode, const fs::path& at, const std::map<ino_t, std::string>& present, bool named,
           random_stream* draws, disk_image& out) const {
    const auto durable = folders.find(inode);
    const auto all = named ? names_in(present.at(inode)) : durable != folders.end() ? durable->second : names();
    for (const auto& [name, one] : all) {
      out[at / name] = one.folder ? nullptr : content_of(one.inode, present, draws);
      if (one.folder) add(one.inode, at / name, present, named, draws, out);
    }
  }

  disk_image image(random_stream* draws) const {
    const unwatched quiet;
    const std::lock_guard hold(lock);
    struct stat facts {};
    if (::stat(root.c_str(), &facts) != 0) throw std::runtime_error("the watched folder is gone");
    std::map<ino_t, std::string> present;
    if (draws != nullptr) {
      present[facts.st_ino] = root;
      find_present(root, present);
    }
    disk_image made;
    add(facts.st_ino, {}, present, draws != nullptr && draws->below(2) == 1, draws, made);
    return made;
  }
};

namespace {

watched_disk* watched = nullptr;
watched_disk::content* watched_content = nullptr;

/// Around something that changes names or makes something durable.
template <class Work>
int around(const Work& work) {
  if (inside || watched == nullptr) return work(false);
  const unwatched quiet;
  const std::lock_guard hold(watched_content->lock);
  watched_content->at_each(*watched);
  const int done = work(true);
  watched_content->at_each(*watched);
  return done;
}

int make_durable(int file) {
  return around([file](bool is_watched) {
    if (!is_watched) return 0;
    const auto link = "/proc/self/fd/" + std::to_string(file);
    std::string path(4096, '\0');
    const auto length = ::readlink(link.c_str(), path.data(), path.size());
    path.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    if (path == watched_content->root || path.starts_with(watched_content->root + "/"))
      watched_content->note(link, false);  // by the link: its name may be another one by now
    return 0;
  });
}

}  // namespace

watched_disk::watched_disk(const fs::path& folder, std::function<void(const watched_disk&)> at_each)
    : content_(std::make_unique<content>()) {
  const unwatched quiet;
  content_->root = fs::canonical(folder).string();
  content_->at_each = std::move(at_each);
  content_->note(content_->root, true);
  watched_content = content_.get();
  watched = this;
}

watched_disk::~watched_disk() {
  watched = nullptr;
  watched_content = nullptr;
}

disk_image watched_disk::durable() const { return content_->image(nullptr); }
disk_image watched_disk::partly(random_stream draws) const { return content_->image(&draws); }

void write_image(const disk_image& image, const fs::path& folder) {
  const unwatched quiet;
  fs::create_directories(folder);
  for (const auto& [path, content] : image) {  // a folder comes before what is in it
    if (content == nullptr)
      fs::create_directory(folder / path);
    else
      std::ofstream(folder / path, std::ios::binary)
          .write(content->data(), static_cast<std::streamsize>(content->size()));
  }
}

}  // namespace furlong::tests

extern "C" {

int fsync(int file) { return furlong::tests::make_durable(file); }
int fdatasync(int file) { return furlong::tests::make_durable(file); }
int rename(const char* from, const char* to) noexcept {
  return furlong::tests::around([&](bool) { return ::renameat(AT_FDCWD, from, AT_FDCWD, to); });
}
int link(const char* from, const char* to) noexcept {
  return furlong::tests::around([&](bool) { return ::linkat(AT_FDCWD, from, AT_FDCWD, to, 0); });
}
int unlink(const char* path) noexcept {
  return furlong::tests::around([&](bool) { return ::unlinkat(AT_FDCWD, path, 0); });
}
}
