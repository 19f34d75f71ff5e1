#include "actors/net/detail/origin.hpp"

#include <algorithm>

namespace furlong::actors::net::detail {

asio::ip::address unmapped(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

std::string origin_of(const asio::ip::address& address) {
  const auto plain = unmapped(address);
  if (plain.is_v4()) return plain.to_string();
  constexpr std::size_t of_network = 8;
  auto bytes = plain.to_v6().to_bytes();
  std::fill(bytes.begin() + of_network, bytes.end(), 0);
  return asio::ip::make_address_v6(bytes).to_string() + "/64";
}

}  // namespace furlong::actors::net::detail
