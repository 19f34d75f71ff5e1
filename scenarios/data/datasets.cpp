#include <algorithm>
#include <cstdlib>

#include "scenarios/data/dataset.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/data/synthetic_ratings.hpp"
#include "scenarios/data/synthetic_texts.hpp"

namespace furlong::scenarios {

namespace {

std::vector<dataset_entry>& table() {
  // One line per dataset. An explicit table, since a linker drops the static initialisers of a static library.
  // clang-format off
  static std::vector<dataset_entry> entries = {
      movielens_entry(),
      hosted_ratings_entry(),
      synthetic_ratings_entry(),
      text_entry(),
      labelled_text_entry(),
      leaf_entry(),
      synthetic_texts_entry(),
  };
  // clang-format on
  return entries;
}

}  // namespace

const std::vector<dataset_entry>& registered_datasets() { return table(); }

void register_dataset(dataset_entry entry) {
  auto& entries = table();
  const auto same = std::ranges::find(entries, entry.kind, &dataset_entry::kind);
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

const dataset_entry* find_dataset(std::string_view kind) {
  const auto& entries = table();
  const auto at = std::ranges::find(entries, kind, &dataset_entry::kind);
  return at == entries.end() ? nullptr : &*at;
}

std::filesystem::path data_root() {
  const char* named = std::getenv("FURLONG_DATA");
  return named != nullptr && *named != '\0' ? std::filesystem::path(named) : std::filesystem::path("data");
}

}  // namespace furlong::scenarios
