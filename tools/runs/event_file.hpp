// TensorBoard's event files: records of Protocol Buffers with checksums.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace furlong::tools {

/// The figures of one step.
struct event_step {
  double wall_time = 0.0;  ///< seconds
  std::int64_t step = 0;
  std::vector<std::pair<std::string, float>> figures;  ///< by tag
};

/// The content of a file: its version, then the steps.
[[nodiscard]] std::string event_file(const std::vector<event_step>& steps);

}  // namespace furlong::tools
