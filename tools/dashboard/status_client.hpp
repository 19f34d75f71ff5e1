// Asks a dashboard for the state of its federation.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "tools/dashboard/status_json.hpp"

namespace furlong::tools::dashboard {

/// The answer of /api/status. Fails (kind data) when nobody answers there within `longest`, or something that is no
/// dashboard does. `host`: a name or an address, IPv6 without brackets.
[[nodiscard]] result<json> fetch_status(const std::string& host, std::uint16_t port,
                                        std::chrono::milliseconds longest = std::chrono::seconds(5));

}  // namespace furlong::tools::dashboard
