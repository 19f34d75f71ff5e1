#include "actors/net/address.hpp"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>

#include "actors/net/bind_socket.hpp"
#include "base/parse_number.hpp"

namespace furlong::actors::net {

namespace {

constexpr std::size_t longest_name = 253;  // of a host, RFC 1035

bool is_letter_or_digit(char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }
bool is_name(std::string_view host) {
  return std::all_of(host.begin(), host.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}
// Other invalid addresses are refused when they are resolved.
bool is_ipv6(std::string_view host) {
  return std::all_of(host.begin(), host.end(),
                     [](char c) { return is_letter_or_digit(c) || c == ':' || c == '.' || c == '%'; });
}

}  // namespace

std::string host_port::text() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

result<host_port> parse_address(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return fail(error::kind::usage, std::string(text.substr(0, longest_name)), why,
                "write HOST:PORT, as in localhost:7000, 10.0.0.1:7000 or [::]:7000");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    return wrong(number ? "has no host" : "has no port");
  }
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  const bool brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > longest_name) return wrong("has no host, or one that is too long");
  if (brackets ? !is_ipv6(host) : !is_name(host)) return wrong("is no host and port");
  const auto port = parse_number<std::uint16_t>(digits);
  if (!port) return wrong("has a port that is no number from 0 to 65535");
  return host_port{std::string(host), *port};
}

using boost::asio::ip::tcp;

namespace {

boost::system::error_code listen_at(tcp::acceptor& socket, const tcp::endpoint& end) {
  boost::system::error_code failed;
  const auto ok = [&](auto call) {
    if (!failed) call();
  };
  ok([&] { socket.open(end.protocol(), failed); });
  ok([&] { socket.set_option(tcp::acceptor::reuse_address(true), failed); });
  if (end.address().is_v6()) ok([&] { socket.set_option(boost::asio::ip::v6_only(false), failed); });
  ok([&] { socket.bind(end, failed); });
  ok([&] { socket.listen(boost::asio::socket_base::max_listen_connections, failed); });
  return failed;
}

}  // namespace

result<std::uint16_t> bind_socket(tcp::acceptor& socket, const host_port& at) {
  boost::system::error_code failed;
  tcp::resolver resolver(socket.get_executor());
  const auto found = resolver.resolve(at.host, std::to_string(at.port), tcp::resolver::passive, failed);
  if (failed || found.empty())
    return fail(error::kind::usage, at.text(), "no address has this name: " + failed.message(),
                "choose an address of this machine");
  for (const auto& one : found) {
    failed = listen_at(socket, one);
    if (!failed) return socket.local_endpoint(failed).port();
    boost::system::error_code ignored;
    socket.close(ignored);
  }
  return fail(error::kind::runtime, at.text(), "cannot listen there: " + failed.message(),
              "choose an address of this machine and a free port");
}

}  // namespace furlong::actors::net
