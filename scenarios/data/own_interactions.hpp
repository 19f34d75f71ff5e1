// One person's items from a file, for recommendations to someone who is not a client: `furlong infer --ratings FILE` of
// a run on interactions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/examples.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

struct own_interactions {
  models::examples table;            ///< in the order of the file; all labels are 1
  std::vector<std::string> unknown;  ///< ids of items that the dataset lacks; they are skipped
};

/// Reads one item a line, by the ids of the dataset; or a CSV table with a header that has the column "item", whose
/// other columns are ignored. Repeated items count once. Fails (kind data) at an empty id, and if no item is known.
[[nodiscard]] result<own_interactions> read_own_interactions(const std::filesystem::path& path, const dataset& data);

}  // namespace furlong::scenarios
