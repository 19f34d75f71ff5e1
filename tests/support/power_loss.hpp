// What a loss of power leaves on a disk: what was made durable, and of everything else as much or as little as the
// system happened to have written. A process that is killed loses nothing that it wrote; only this finds an fsync that
// is missing.
//
// power_loss.cpp defines fsync, fdatasync, rename, link and unlink. In a program that it is linked into, all code uses
// these, RocksDB's too. They do what they always do, but that nothing is written to the real disk for a sync.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.hpp"

namespace furlong::tests {

/// Files and folders by their path below the watched folder. Null: a folder.
using disk_image = std::map<std::filesystem::path, std::shared_ptr<const std::string>>;

/// Makes the folder and all that the image has.
void write_image(const disk_image& image, const std::filesystem::path& folder);

/// Follows what is durable in a folder. One at a time. What is in the folder at its construction is durable.
///
/// A file's content is durable as it was at its last sync, and empty without one. A name, the lack of a name included,
/// is durable as it was at the last sync of the folder that it is in. POSIX promises no more.
class watched_disk {
 public:
  /// `at_each` is called before everything that changes names or makes something durable, on the thread that does it,
  /// and after it too. It must not use this store's own files but by durable() and partly().
  watched_disk(const std::filesystem::path& folder, std::function<void(const watched_disk&)> at_each);
  ~watched_disk();
  watched_disk(const watched_disk&) = delete;
  watched_disk& operator=(const watched_disk&) = delete;

  /// What is left when nothing was written but what had to be.
  [[nodiscard]] disk_image durable() const;
  /// What is left when some of the rest was written as well: the names as they are durable or as they are now (file
  /// systems write changes of names in their order, so these are all that there can be at the moments that are looked
  /// at), and of each file the old or the new content, or whole sectors of what was added.
  [[nodiscard]] disk_image partly(random_stream draws) const;

  struct content;

 private:
  std::unique_ptr<content> content_;
};

}  // namespace furlong::tests
