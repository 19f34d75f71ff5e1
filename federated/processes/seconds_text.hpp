// A span of time in messages to users.
#pragma once

#include <string>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::processes {

/// Seconds, with one decimal.
[[nodiscard]] inline std::string seconds_text(virtual_time span) {
  const auto tenths = (span + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace furlong::federated::processes
