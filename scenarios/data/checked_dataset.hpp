// What a dataset of another library builds, checked once before it is used: everything after it relies on numbers that
// fit each other.
#pragma once

#include <string>

#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

/// Checks the facts of the data and its lists of clients: all that a server has of data that only nodes have. Fails
/// (kind data).
[[nodiscard]] result<void> check_outline(const dataset& made, const std::string& kind);
/// The same, and all examples of the clients: O(all examples). Fails (kind data), with
/// the client and the example, if numbers of features, offsets, values, labels or counts cannot be.
[[nodiscard]] result<void> check_dataset(const dataset& made, const std::string& kind);

/// The entry whose builders check what they have built, and fail (kind data) where building or reading it throws.
/// Throws std::invalid_argument as register_dataset() does.
[[nodiscard]] dataset_entry checked(dataset_entry entry);

}  // namespace furlong::scenarios
