// Binds a socket and starts listening.
#pragma once

#include "actors/net/address.hpp"
#include "actors/net/detail/asio.hpp"

namespace furlong::actors::net::detail {

/// Returns the port; accepts no connections yet. "[::]" also takes IPv4. Errors as of can_listen().
result<std::uint16_t> bind_socket(asio::ip::tcp::acceptor& socket, const host_port& at);

}  // namespace furlong::actors::net::detail
