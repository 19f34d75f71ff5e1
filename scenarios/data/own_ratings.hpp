// One person's ratings from a file, for predictions to somebody who is no client: `furlong infer --ratings FILE`.
#pragma once

#include <filesystem>
#include <vector>

#include "models/examples.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

struct own_ratings {
  models::examples table;              ///< in the order of the file; labels are binarized as the dataset's are
  std::vector<std::uint32_t> unknown;  ///< ids of rated items that the dataset does not have; they are left out
};

/// Reads item,rating lines, or any MovieLens format with the ratings of one user. Items are named by the dataset's
/// original ids. Fails (kind data) at malformed lines, at an item rated twice, at a second user, when the dataset has
/// no items, and when no rated item is known.
[[nodiscard]] result<own_ratings> read_own_ratings(const std::filesystem::path& path, const dataset& data);

}  // namespace furlong::scenarios
