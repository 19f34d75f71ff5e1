// Binds a socket and begins to listen.
#pragma once

#include "actors/net/address.hpp"
#include "actors/net/detail/asio.hpp"

namespace furlong::actors::net::detail {

/// The port; nobody is accepted yet. "[::]" also takes IPv4. Errors as of can_listen().
result<std::uint16_t> bind_socket(asio::ip::tcp::acceptor& socket, const host_port& at);

}  // namespace furlong::actors::net::detail
