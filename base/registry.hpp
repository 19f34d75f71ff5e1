// Tables of what can be chosen by name: models, datasets, algorithms, aggregation rules, selection policies.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace furlong {

/// Entries by their `kind`, in the order in which they were added. The built-in ones are given explicitly, since a
/// linker drops the static initialisers of a static library. Not to be changed while another thread reads it.
template <class Entry>
struct registry {
  std::vector<Entry> entries;

  /// Adds an entry, or replaces the one of the same kind.
  void add(Entry entry) {
    const auto same = std::ranges::find(entries, entry.kind, &Entry::kind);
    if (same == entries.end())
      entries.push_back(std::move(entry));
    else
      *same = std::move(entry);
  }
  /// Null: there is none.
  [[nodiscard]] const Entry* find(std::string_view kind) const {
    const auto at = std::ranges::find(entries, kind, &Entry::kind);
    return at == entries.end() ? nullptr : &*at;
  }
};

}  // namespace furlong
