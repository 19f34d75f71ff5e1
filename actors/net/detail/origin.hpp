// Where connections come from, as far as limits are concerned.
#pragma once

#include <string>

#include "actors/net/detail/io_core.hpp"

namespace furlong::actors::net::detail {

/// An IPv4 address as itself, even where a socket for IPv6 took it in.
[[nodiscard]] asio::ip::address unmapped(const asio::ip::address& address);

/// The same for all addresses that one site may well have to itself: an IPv4 address, mapped or not, or the first
/// 64 bits of an IPv6 address, of which whoever has one has 2^64 (RFC 6177).
[[nodiscard]] std::string origin_of(const asio::ip::address& address);

}  // namespace furlong::actors::net::detail
