// Origins of connections, for limits.
#pragma once

#include <string>

#include "actors/net/detail/io_core.hpp"

namespace furlong::actors::net::detail {

/// An IPv4 address, also if a socket for IPv6 accepted it.
[[nodiscard]] asio::ip::address unmapped(const asio::ip::address& address);

/// Equal for all addresses that one site may own: an IPv4 address, mapped or not, or the first 64 bits of an IPv6
/// address, because a site has at least 2^64 of them (RFC 6177).
[[nodiscard]] std::string origin_of(const asio::ip::address& address);

}  // namespace furlong::actors::net::detail
