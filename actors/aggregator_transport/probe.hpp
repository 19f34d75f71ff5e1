// Whether anybody listens at an address.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// Connects by TCP, and disconnects. The numeric address that answered, as with_port() writes it. Blocks until the
/// deadline at most, but for the name service, which has times of its own. Needed because CAF connects without a limit
/// of time, one address after the other, and tells no reasons. Errors (runtime): the name is not known; what the
/// operating system says of the last of its addresses; no answer.
result<std::string> probe(const std::string& host, std::uint16_t port, std::chrono::steady_clock::time_point deadline);

}  // namespace furlong::actors::aggregator_transport
