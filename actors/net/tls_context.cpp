#include "actors/net/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string>
#include <utility>

namespace furlong::actors::net {

namespace {

/// The text of OpenSSL's latest error.
std::string openssl_reason() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* text = ERR_reason_error_string(code);
  return text != nullptr ? text : "OpenSSL gives no reason";
}

tl::unexpected<error> bad_file(const std::filesystem::path& file, const std::string& what) {
  return fail(error::kind::data, file.string(), what + ": " + openssl_reason(),
              "issue it again with 'furlong certs issue'");
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Data to send may have moved when a write is repeated; idle connections hold no buffers.
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

/// OpenSSL's question whether a problem of a certificate is one: not a missing host in one that names none.
int accept_without_hosts(int accepted, X509_STORE_CTX* check) {
  const int problem = X509_STORE_CTX_get_error(check);
  if (problem != X509_V_ERR_HOSTNAME_MISMATCH && problem != X509_V_ERR_IP_ADDRESS_MISMATCH) return accepted;
  const X509* certificate = X509_STORE_CTX_get_current_cert(check);
  if (certificate == nullptr || X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0) return accepted;
  X509_STORE_CTX_set_error(check, X509_V_OK);
  return 1;
}

}  // namespace

result<tls_context> tls_context::make(const tls_paths& paths, bool server) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> made(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free);
  if (made == nullptr) return fail(error::kind::runtime, "TLS", openssl_reason());
  set_rules(made.get());
  if (SSL_CTX_use_certificate_chain_file(made.get(), paths.certificate.c_str()) != 1)
    return bad_file(paths.certificate, "holds no certificate that can be used");
  if (SSL_CTX_use_PrivateKey_file(made.get(), paths.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return bad_file(paths.key, "holds no key of " + paths.certificate.string());
  if (SSL_CTX_check_private_key(made.get()) != 1)
    return bad_file(paths.key, "is not the key of " + paths.certificate.string());
  if (SSL_CTX_load_verify_file(made.get(), paths.authority.c_str()) != 1)
    return bad_file(paths.authority, "holds no certificate of an authority");
  return tls_context(std::move(made), server);
}

result<tls_context> tls_context::for_server(const tls_paths& paths) { return make(paths, true); }
result<tls_context> tls_context::for_client(const tls_paths& paths) { return make(paths, false); }
result<tls_context> tls_context::for_operator_client(const tls_paths& paths) {
  return make(paths, false).map([](tls_context made) {
    SSL_CTX_set_verify(made.native(), SSL_CTX_get_verify_mode(made.native()), accept_without_hosts);
    return made;
  });
}

}  // namespace furlong::actors::net
