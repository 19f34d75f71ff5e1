#include "actors/net/listening.hpp"

#include "actors/net/detail/bind.hpp"

namespace furlong::actors::net {

using detail::error_code;
using detail::asio::ip::tcp;

result<std::uint16_t> detail::bind_socket(tcp::acceptor& socket, const host_port& at) {
  error_code failed;
  tcp::resolver resolver(socket.get_executor());
  const auto found = resolver.resolve(at.host, std::to_string(at.port), tcp::resolver::passive, failed);
  if (failed || found.empty())
    return fail(error::kind::usage, at.text(), "no address has this name: " + failed.message(),
                "choose an address of this machine");
  const tcp::endpoint end = *found.begin();
  const auto ok = [&](auto call) {
    if (!failed) call();
  };
  ok([&] { socket.open(end.protocol(), failed); });
  ok([&] { socket.set_option(tcp::acceptor::reuse_address(true), failed); });
  if (end.address().is_v6()) ok([&] { socket.set_option(detail::asio::ip::v6_only(false), failed); });
  ok([&] { socket.bind(end, failed); });
  ok([&] { socket.listen(detail::asio::socket_base::max_listen_connections, failed); });
  if (failed)
    return fail(error::kind::runtime, at.text(), "cannot listen there: " + failed.message(),
                "choose an address of this machine and a free port");
  return socket.local_endpoint(failed).port();
}

result<void> can_listen(const host_port& at) {
  detail::asio::io_context context;
  tcp::acceptor socket(context);
  if (const auto port = detail::bind_socket(socket, at); !port) return tl::unexpected(port.error());
  return {};
}

}  // namespace furlong::actors::net
