// Checks for a listener at an address.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// Connects by TCP, and disconnects. Returns the numeric address that answered, in the format of with_port(). Blocks
/// until the deadline at most, apart from the name service, which has its own times. Needed because CAF connects
/// without a time limit, one address after another, and reports no reasons. Errors (runtime): the name does not
/// resolve; the operating system's error for the last of its addresses; no answer.
result<std::string> probe(const std::string& host, std::uint16_t port, std::chrono::steady_clock::time_point deadline);

}  // namespace furlong::actors::aggregator_transport
