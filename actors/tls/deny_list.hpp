// Nodes that are not let in any more, although their certificates are valid.
//
// A text file. Each line is a common name, NAME/FIRST-LAST/SERIAL, which denies that certificate, or a NAME, which
// denies every certificate of that node, those issued later too. What follows a # is a comment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace furlong::actors::tls {

/// What a gateway tells those who are on its list; a node that is told so does not come again.
inline constexpr std::string_view denied_text = "the certificate is on the deny list";

/// Thread-safe.
class deny_list {
 public:
  /// Reads the file. Fails (kind data) when it cannot be read, and at a line that is neither name: a slip of the pen
  /// must not let anybody in.
  [[nodiscard]] static result<std::shared_ptr<deny_list>> load(std::filesystem::path file);

  /// Reads the file again when it was replaced or changed since; call it before letting anybody in. True when it was
  /// read. When it is gone or has a wrong line, what was denied stays denied, right lines are added, and the error is
  /// returned again with each call until the file is fixed.
  [[nodiscard]] result<bool> refresh();

  /// Whether the certificate of this common name is denied, as of the last refresh().
  [[nodiscard]] bool contains(std::string_view common_name) const;

  /// How many lines deny something.
  [[nodiscard]] std::size_t size() const;

 private:
  /// Tells one state of the file from another.
  struct fingerprint {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const fingerprint&, const fingerprint&) = default;
  };
  using entries = std::set<std::string, std::less<>>;

  explicit deny_list(std::filesystem::path file) : file_(std::move(file)) {}
  [[nodiscard]] result<fingerprint> look() const;
  /// Adds the right lines to `into`; the error is about the first wrong one.
  [[nodiscard]] result<void> read(entries& into) const;

  const std::filesystem::path file_;
  mutable std::mutex guard_;  ///< of all below
  fingerprint seen_;
  entries denied_;
};

}  // namespace furlong::actors::tls
