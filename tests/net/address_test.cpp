#include "actors/net/address.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(address)

using furlong::actors::net::host_port;
using furlong::actors::net::parse_address;

BOOST_AUTO_TEST_CASE(reads_what_it_writes) {
  for (const char* text : {"localhost:7000", "127.0.0.1:0", "[::]:65535", "[::1]:1", "a-b_c.example.org:80"}) {
    const auto read = parse_address(text);
    BOOST_REQUIRE_MESSAGE(read, text);
    BOOST_TEST(read->text() == text);
  }
  BOOST_TEST((*parse_address("[fe80::1%eth0]:5") == host_port{"fe80::1%eth0", 5}));
}

BOOST_AUTO_TEST_CASE(refuses_the_rest) {
  for (const char* text : {"", "localhost", ":7000", "localhost:", "localhost:70000", "localhost:-1", "localhost:7x",
                           "::1:7000", "[]:7000", "[::1]7000", "a b:1", "[a b]:1", "host\n:1", "localhost: 7"}) {
    const auto read = parse_address(text);
    BOOST_TEST(!read, "took '" << text << "'");
    if (!read) BOOST_TEST(!read.error().fix.empty());
  }
  BOOST_TEST(parse_address("8080").error().reason == "has no host");
  BOOST_TEST(parse_address("localhost").error().reason == "has no port");
  BOOST_TEST(!parse_address(std::string(254, 'a').append(":1")));
  BOOST_TEST(parse_address(std::string(253, 'a').append(":1")).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
