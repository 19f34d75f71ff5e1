// Denied nodes, which are rejected although their certificates are valid. A text file. Each line is a common name,
// NAME/FIRST-LAST/SERIAL, which denies that certificate, or a NAME, which denies every certificate of that node,
// including later ones. # begins a comment.
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

/// The reason that a gateway sends to a denied node, which then does not reconnect.
inline constexpr std::string_view denied_text = "the certificate is on the deny list";

/// Thread-safe.
class deny_list {
 public:
  /// Reads the file. Fails (kind data) if it cannot be read, and at a line that is neither form: a typo must not
  /// admit a denied node.
  [[nodiscard]] static result<std::shared_ptr<deny_list>> load(std::filesystem::path file);

  /// Reads the file again if it was replaced or changed; call it before admitting a peer. True if it was read. If it
  /// is missing or has an invalid line, earlier entries are kept, valid lines are added, and each call returns the
  /// error until the file is fixed.
  [[nodiscard]] result<bool> refresh();

  /// Whether the certificate with this common name is denied, as of the last refresh().
  [[nodiscard]] bool contains(std::string_view common_name) const;

  /// Number of entries.
  [[nodiscard]] std::size_t size() const;

 private:
  /// Identifies a state of the file.
  struct fingerprint {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const fingerprint&, const fingerprint&) = default;
  };
  using entries = std::set<std::string, std::less<>>;

  explicit deny_list(std::filesystem::path file) : file_(std::move(file)) {}
  [[nodiscard]] result<fingerprint> look() const;
  /// Adds the valid lines to `into`; the error is about the first invalid one.
  [[nodiscard]] result<void> read(entries& into) const;

  const std::filesystem::path file_;
  mutable std::mutex guard_;  ///< guards all below
  fingerprint seen_;
  entries denied_;
};

}  // namespace furlong::actors::tls
