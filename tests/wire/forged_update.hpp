// An update that no encoder makes, for tests that may not use the schema.
#pragma once

#include <cstddef>
#include <vector>

#include "federated/experiment/update.hpp"
#include "models/layout.hpp"

namespace furlong::wire::samples {

/// The frame of an update of this task and layout that claims so many tensors, all of them without content.
[[nodiscard]] std::vector<std::byte> forged_update(const federated::task_id& task, const models::layout& shape,
                                                   unsigned tensors);

}  // namespace furlong::wire::samples
