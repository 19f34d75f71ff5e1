// Tables of what can be chosen by name: models, datasets, algorithms, aggregation rules, selection policies.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/program_version.hpp"

namespace furlong {

/// Throws std::invalid_argument if a scenario cannot name it: `kind` must be letters, digits, _ and -.
inline void check_kind(const std::string& kind) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (kind.empty() || !std::ranges::all_of(kind, fits))
    throw std::invalid_argument("kind \"" + kind + "\" cannot be registered: name it by letters, digits, _ and -");
}

/// True for the entry of another library: registration gives it a version, and those of furlong have none.
template <class Entry>
[[nodiscard]] bool is_registered(const Entry& entry) {
  return !entry.version.empty();
}

/// Entries by their `kind`, in the order in which they were added. The built-in ones are given explicitly, since a
/// linker drops the static initialisers of a static library. Not to be changed while another thread reads it.
template <class Entry>
struct registry {
  std::vector<Entry> entries;

  /// Adds an entry of another library, or replaces the one of the same kind. One without a version gets that of the
  /// program. Throws as check_kind(), and std::invalid_argument if its version is not one word.
  void add(Entry entry) {
    check_kind(entry.kind);
    if (entry.version.empty()) entry.version = program_version();
    if (!is_version(entry.version))
      throw std::invalid_argument("\"" + entry.kind + "\": its version is \"" + entry.version +
                                  "\": write a word of at most 64 letters, digits and punctuation marks, such as 1.2");
    const auto same = std::ranges::find(entries, entry.kind, &Entry::kind);
    if (same == entries.end())
      entries.push_back(std::move(entry));
    else
      *same = std::move(entry);
  }
  /// Null: there is none.
  [[nodiscard]] const Entry* find(std::string_view kind) const {
    const auto found = std::ranges::find(entries, kind, &Entry::kind);
    return found == entries.end() ? nullptr : &*found;
  }
};

}  // namespace furlong
