// One person's ratings from a file, for predictions to someone who is not a client: `furlong infer --ratings FILE`.
#pragma once

#include <filesystem>
#include <vector>

#include "models/examples.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

struct own_ratings {
  models::examples table;              ///< in the order of the file; labels are binarized like those of the dataset
  std::vector<std::uint32_t> unknown;  ///< ids of rated items that the dataset lacks; they are skipped
};

/// Reads item,rating lines with or without that header, or the formats of `movielens` and `hosted-ratings` with the
/// ratings of one user. Items are named by the dataset's original ids. Fails (kind data) at malformed lines, at a
/// rating out of the dataset's range, at an item rated twice, at a second user, if the dataset has no items, and if no
/// rated item is known.
[[nodiscard]] result<own_ratings> read_own_ratings(const std::filesystem::path& path, const dataset& data);

}  // namespace furlong::scenarios
