#include <cstdlib>

#include "base/registry.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/data/synthetic_ratings.hpp"
#include "scenarios/data/synthetic_texts.hpp"

namespace furlong::scenarios {

namespace {

registry<dataset_entry>& table() {
  // clang-format off
  static registry<dataset_entry> entries = {{
      movielens_entry(),
      hosted_ratings_entry(),
      synthetic_ratings_entry(),
      text_entry(),
      labelled_text_entry(),
      leaf_entry(),
      synthetic_texts_entry(),
      python_data_entry(),
  }};
  // clang-format on
  return entries;
}

}  // namespace

const std::vector<dataset_entry>& registered_datasets() { return table().entries; }

void register_dataset(dataset_entry entry) { table().add(std::move(entry)); }

const dataset_entry* find_dataset(std::string_view kind) { return table().find(kind); }

std::filesystem::path data_root() {
  const char* named = std::getenv("FURLONG_DATA");
  return named != nullptr && *named != '\0' ? std::filesystem::path(named) : std::filesystem::path("data");
}

}  // namespace furlong::scenarios
