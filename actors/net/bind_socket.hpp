// Binds a socket and begins to listen.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <utility>  // boost/asio/awaitable.hpp uses std::exchange without it

#include "actors/net/address.hpp"

namespace furlong::actors::net {

/// The port; nobody is accepted yet. "[::]" also takes IPv4. Of several addresses with this name, the first that it can
/// listen at. Errors: no address has this name (usage); it is not this machine's, or the port is taken or not this
/// user's to open (runtime).
[[nodiscard]] result<std::uint16_t> bind_socket(boost::asio::ip::tcp::acceptor& socket, const host_port& at);

}  // namespace furlong::actors::net
