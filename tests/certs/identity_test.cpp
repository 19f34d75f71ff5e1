// Names of nodes and of hosts: what is read, and what is not.
#include "actors/tls/identity.hpp"

#include "tests/certs/support.hpp"
#include "tools/certs/make_certificate.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(identity)

BOOST_AUTO_TEST_CASE(common_names_round_trip) {
  for (const auto& one : {tls::node_identity{"phone-rack-3", {100, 149}, 17}, tls::node_identity{"a", {0, 0}, 1},
                          tls::node_identity{"A.b_c-9", {4'294'967'295, 4'294'967'295}, 1},
                          tls::node_identity{std::string(39, 'x'), {0, 9}, 18'446'744'073'709'551'615U}}) {
    const auto text = to_common_name(one);
    BOOST_TEST((must(tls::parse_common_name(text)) == one), text);
  }
  BOOST_TEST(tls::to_common_name({"phone-rack-3", {100, 149}, 17}) == "phone-rack-3/100-149/17");
}

BOOST_AUTO_TEST_CASE(each_identity_has_one_spelling) {
  for (const std::string text : {"",
                                 "/",
                                 "//",
                                 "rack",
                                 "rack/1-2",
                                 "rack/1-2/",
                                 "rack/1-2/0",
                                 "rack/1-2/03",
                                 "rack/1-2/+3",
                                 "rack/1-2/3 ",
                                 " rack/1-2/3",
                                 "rack/1-2/3/4",
                                 "rack/01-2/3",
                                 "rack/2-1/3",
                                 "rack/1-/3",
                                 "rack/-2/3",
                                 "rack/12/3",
                                 "rack/1-4294967296/3",
                                 "rack/1--2/3",
                                 "rack/0x1-2/3",
                                 "rack/1-2/18446744073709551616",
                                 "/1-2/3",
                                 "-rack/1-2/3",
                                 "ra ck/1-2/3",
                                 "r\xC3\xA4"
                                 "ck/1-2/3",
                                 "ra#ck/1-2/3",
                                 "rack/1-2/3\n",
                                 "rack\\/1-2/3"})
    BOOST_TEST(!tls::parse_common_name(text).has_value(), text);
  using namespace std::string_view_literals;
  BOOST_TEST(!tls::parse_common_name("rack/1-2/3\0"sv).has_value());
  BOOST_TEST(!tls::parse_common_name("ra\0ck/1-2/3"sv).has_value());
  BOOST_TEST(!tls::parse_common_name(std::string(41, 'x') + "/1-2/3").has_value());
  // One character above the 64 of a common name.
  BOOST_TEST(tls::parse_common_name(std::string(40, 'x') + "/0-9/1844674407370955161").has_value());
  BOOST_TEST(!tls::parse_common_name(std::string(40, 'x') + "/0-9/18446744073709551615").has_value());
  // What a stranger wrote reaches a message cut short and without control characters.
  const auto why = must_fail(tls::parse_common_name("\x1B[2J" + std::string(10'000, 'x')), "longer");
  BOOST_TEST(why.text().size() < 250U);
  BOOST_TEST(!has(why.text(), "\x1B"));
}

BOOST_AUTO_TEST_CASE(ranges_are_two_numbers_in_order) {
  BOOST_TEST((must(tls::parse_client_range("0-4294967295")) == federated::client_range{0, 4'294'967'295}));
  for (const char* text : {"", "5", "5-", "-5", "6-5", "a-b", "1-2-3", "1 - 2", "1..2"})
    must_fail(tls::parse_client_range(text), "FIRST-LAST");
}

BOOST_AUTO_TEST_CASE(hosts_are_names_or_addresses) {
  for (const char* text : {"localhost", "gateway.example.org", "a-b.c1", "xn--bcher-kva.example", "1a"})
    BOOST_TEST((must(certs::parse_host(text)) == certs::host_name{text, false}), text);
  for (const char* text : {"127.0.0.1", "192.0.2.7", "::1", "2001:db8::7"})
    BOOST_TEST((must(certs::parse_host(text)) == certs::host_name{text, true}), text);
  BOOST_TEST(must(certs::parse_host("Gateway.Example.ORG")).text == "gateway.example.org");
  using namespace std::string_view_literals;
  for (const auto text : {""sv, "localhost:7400"sv, "[::1]"sv, "*.example.org"sv, "a b"sv, "-a"sv, "a-"sv, "a..b"sv,
                          "a."sv, ".a"sv, "1.2.3"sv, "300.1.1.1"sv, "a,DNS:b"sv, "a_b"sv, "127.0.0.1\0x"sv})
    BOOST_TEST(!certs::parse_host(text).has_value(), text);
  BOOST_TEST(!certs::parse_host(std::string(64, 'a')).has_value());
  std::string longest;
  for (int i = 0; i < 127; ++i) longest += "a.";
  BOOST_TEST(!certs::parse_host(longest + "a").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
