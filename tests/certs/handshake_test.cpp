// TLS itself with the certificates that issue() makes: who gets through to whom.
#include <openssl/ssl.h>

#include "actors/tls/credentials.hpp"
#include "tests/certs/support.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(handshake)

namespace {

using context_ptr = tls::openssl_ptr<SSL_CTX, SSL_CTX_free>;
using session_ptr = tls::openssl_ptr<SSL, SSL_free>;

/// A side that shows its certificate and demands one. `folder` holds certificate.pem, key.pem and authority.pem.
context_ptr make_context(const fs::path& folder, const SSL_METHOD* method) {
  context_ptr context(SSL_CTX_new(method));
  BOOST_REQUIRE(SSL_CTX_use_certificate_file(context.get(), (folder / "certificate.pem").c_str(), SSL_FILETYPE_PEM) ==
                1);
  BOOST_REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), (folder / "key.pem").c_str(), SSL_FILETYPE_PEM) == 1);
  BOOST_REQUIRE(SSL_CTX_load_verify_locations(context.get(), (folder / "authority.pem").c_str(), nullptr) == 1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

/// Why a side refused the other: X509_V_OK when it did not.
struct meeting {
  long of_client = X509_V_OK;
  long of_server = X509_V_OK;
  bool done = false;
};

/// A handshake in memory. The client expects to find `host`, a name or an address; empty: anybody.
meeting meet(const fs::path& client, const fs::path& server, const std::string& host) {
  const auto from = make_context(client, TLS_client_method());
  const auto to = make_context(server, TLS_server_method());
  const session_ptr near(SSL_new(from.get()));
  const session_ptr far(SSL_new(to.get()));
  if (!host.empty() && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(near.get()), host.c_str()) != 1)
    BOOST_REQUIRE(SSL_set1_host(near.get(), host.c_str()) == 1);
  BIO* one = nullptr;
  BIO* other = nullptr;
  BOOST_REQUIRE(BIO_new_bio_pair(&one, 0, &other, 0) == 1);
  SSL_set_bio(near.get(), one, one);
  SSL_set_bio(far.get(), other, other);
  SSL_set_connect_state(near.get());
  SSL_set_accept_state(far.get());
  meeting outcome;
  for (int i = 0; i < 20 && !outcome.done; ++i) {
    const bool there = SSL_do_handshake(near.get()) == 1;
    const bool here = SSL_do_handshake(far.get()) == 1;
    outcome.done = there && here;
  }
  ERR_clear_error();
  outcome.of_client = SSL_get_verify_result(near.get());
  outcome.of_server = SSL_get_verify_result(far.get());
  return outcome;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nodes_reach_gateways_and_operators_each_other) {
  const federation all(tls::wall_clock());
  const auto node = all.node();
  const auto server = all.server("head", {"gateway.example.org", "127.0.0.1", "::1"});
  const auto other = all.server("other");
  for (const char* host : {"gateway.example.org", "127.0.0.1", "::1"})
    BOOST_TEST(meet(node, server / "gateway", host).done, host);
  BOOST_TEST(meet(other / "operator", server / "operator", "").done);
  BOOST_TEST(meet(server / "operator", other / "operator", "").done);
}

BOOST_AUTO_TEST_CASE(a_gateway_under_another_name_is_refused) {
  const federation all(tls::wall_clock());
  const auto node = all.node();
  const auto server = all.server("head", {"gateway.example.org"});
  for (const char* host : {"localhost", "head", "sub.gateway.example.org"})
    BOOST_TEST(meet(node, server / "gateway", host).of_client == X509_V_ERR_HOSTNAME_MISMATCH, host);
  BOOST_TEST(meet(node, server / "gateway", "127.0.0.1").of_client == X509_V_ERR_IP_ADDRESS_MISMATCH);
}

BOOST_AUTO_TEST_CASE(nobody_poses_as_another_role) {
  const federation all(tls::wall_clock());
  const auto node = all.node();
  const auto second = all.node("second", 0, 9);
  const auto server = all.server();
  // A node as a gateway, a gateway as a node.
  BOOST_TEST(meet(second, node, "").of_client == X509_V_ERR_INVALID_PURPOSE);
  BOOST_TEST(meet(server / "gateway", server / "gateway", "").of_server == X509_V_ERR_INVALID_PURPOSE);
  // Neither a node nor a gateway gets into the operator's tier, nor an operator's certificate through a gateway.
  BOOST_TEST(!meet(node, server / "operator", "").done);
  const auto posing = all.folder / "posing";  // trusts the operator, so it is the other side that refuses
  fs::copy(node, posing);
  fs::copy_file(server / "operator" / "authority.pem", posing / "authority.pem", fs::copy_options::overwrite_existing);
  BOOST_TEST(meet(posing, server / "operator", "").of_server == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
  BOOST_TEST(!meet(posing, server / "operator", "").done);
  const auto above = all.folder / "above";
  fs::copy(server / "operator", above);
  fs::copy_file(server / "gateway" / "authority.pem", above / "authority.pem", fs::copy_options::overwrite_existing);
  BOOST_TEST(meet(above, server / "gateway", "localhost").of_server == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
}

BOOST_AUTO_TEST_CASE(strangers_and_expired_nodes_are_refused) {
  const federation all(tls::wall_clock());
  const federation stranger(tls::wall_clock());
  const auto server = all.server();
  const auto foreign = stranger.node();
  fs::copy_file(server / "gateway" / "authority.pem", foreign / "authority.pem", fs::copy_options::overwrite_existing);
  BOOST_TEST(meet(foreign, server / "gateway", "localhost").of_server != X509_V_OK);
  const auto then = must(certs::pki::open(all.pki_path(), all.now - std::chrono::days(400)));
  const auto request = all.node_request("old", 0, 9);
  must(then.issue(request));
  BOOST_TEST(meet(request.out, server / "gateway", "localhost").of_server == X509_V_ERR_CERT_HAS_EXPIRED);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
