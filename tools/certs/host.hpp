// What a gateway's certificate says it may be called by.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace furlong::tools::certs {

struct host_name {
  std::string text;      ///< a DNS name in lower case, or an address as it was written
  bool address = false;  ///< IPv4 or IPv6
  friend bool operator==(const host_name&, const host_name&) = default;
};

/// Reads a DNS name without wildcard, or an IPv4 or IPv6 address without brackets; neither with a port. Errors have
/// kind usage.
[[nodiscard]] result<host_name> parse_host(std::string_view text);

}  // namespace furlong::tools::certs
