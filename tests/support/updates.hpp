// Random updates for tests of whatever folds, checks or sends them.
#pragma once

#include <memory>
#include <vector>

#include "tools/conformance/random_updates.hpp"

namespace furlong::tests {

/// Two tensors by feature that share their rows, a dense one, and a table over clients.
[[nodiscard]] inline models::layout_ptr mixed_layout() {
  using models::row_index;
  return std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"item", 13, 5, row_index::by_feature},
                                                                           {"item_bias", 13, 1, row_index::by_feature},
                                                                           {"dense", 3, 7},
                                                                           {"table", 6, 2, row_index::by_client},
                                                                           {"mean"}});
}

using tools::conformance::dense_update;
using tools::conformance::random_update;
using tools::conformance::random_updates;

}  // namespace furlong::tests
