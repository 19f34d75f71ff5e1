#include "actors/net/detail/origin.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(origins)

namespace {

std::string origin(const char* address) {
  namespace net = furlong::actors::net::detail;
  return net::origin_of(net::asio::ip::make_address(address));
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_ipv4_address_is_one_however_it_is_written) {
  BOOST_TEST(origin("192.0.2.7") == "192.0.2.7");
  BOOST_TEST(origin("::ffff:192.0.2.7") == "192.0.2.7");
  BOOST_TEST(origin("192.0.2.8") != origin("192.0.2.7"));
}

BOOST_AUTO_TEST_CASE(an_ipv6_network_is_one) {
  BOOST_TEST(origin("2001:db8:1:2::1") == "2001:db8:1:2::/64");
  BOOST_TEST(origin("2001:db8:1:2:ffff:ffff:ffff:ffff") == origin("2001:db8:1:2::1"));
  BOOST_TEST(origin("2001:db8:1:3::1") != origin("2001:db8:1:2::1"));
  BOOST_TEST(origin("fe80::1%1") == origin("fe80::2"));  // the interface is no part of it
  BOOST_TEST(origin("::1") == "::/64");
}

BOOST_AUTO_TEST_SUITE_END()
