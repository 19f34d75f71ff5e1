// "host:port" texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace furlong::actors::net {

/// A host name, an IPv4 address or an IPv6 address (without its brackets), and a port.
struct host_port {
  std::string host;
  std::uint16_t port = 0;

  /// "host:port", with brackets around an IPv6 address.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const host_port&, const host_port&) = default;
};

/// Reads "localhost:7000", "127.0.0.1:0", "[::]:7000". A name is at most 253 letters, digits, '-', '_' and '.'.
[[nodiscard]] result<host_port> parse_address(std::string_view text);

}  // namespace furlong::actors::net
