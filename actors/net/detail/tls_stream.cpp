#include <algorithm>
#include <cerrno>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <utility>

#include "actors/net/detail/stream.hpp"

namespace furlong::actors::net::detail {

namespace {

struct free_ssl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using ssl_ptr = std::unique_ptr<SSL, free_ssl>;

struct named_failure {
  failure_cause cause;
  std::string reason;
};

/// The error of the peer's certificate.
named_failure of_certificate(long verdict) {
  const std::string text = X509_verify_cert_error_string(verdict);
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return {failure_cause::expired, "its certificate cannot be used now: " + text};
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return {failure_cause::wrong_host, "its certificate is for another host: " + text};
    default: return {failure_cause::untrusted, "its certificate is not trusted: " + text};
  }
}

/// The cause of an error of the TLS library. Alerts come from the peer.
named_failure of_error(unsigned long code) {
  const char* text = ERR_reason_error_string(code);
  const std::string detail = text != nullptr ? text : "no reason given";
  const auto reason = ERR_GET_REASON(code);
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return {failure_cause::untrusted, "it has no certificate"};
  if (reason >= SSL_AD_REASON_OFFSET) return {failure_cause::rejected, "it refuses this side: " + detail};
  return {failure_cause::protocol, "it does not speak TLS 1.3: " + detail};
}

class tls_stream final : public stream {
 public:
  tls_stream(ssl_ptr ssl, int socket) : ssl_(std::move(ssl)), socket_(socket) {}

  io_step handshake() override {
    ERR_clear_error();
    return judge(SSL_do_handshake(ssl_.get()), 0);
  }

  io_step read(std::span<std::byte> into) override {
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
    return judge(done, count);
  }

  io_step write(std::span<const std::byte> from) override {
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_write_ex(ssl_.get(), from.data(), from.size(), &count);
    return judge(done, count);
  }

  void finish() override {
    ERR_clear_error();
    // Before the end of the handshake there is no TLS to close.
    if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    ::shutdown(socket_, SHUT_WR);
  }

  [[nodiscard]] std::optional<std::string> peer_name() const override;

 private:
  /// The meaning of a call's result. @param done 1 if it succeeded
  io_step judge(int done, std::size_t count) {
    if (done == 1) return {io_state::done, count};
    const auto number = errno;
    switch (SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ: return {io_state::wait_read, 0};
      case SSL_ERROR_WANT_WRITE: return {io_state::wait_write, 0};
      case SSL_ERROR_ZERO_RETURN: return {io_state::ended, 0};
      case SSL_ERROR_SYSCALL: return number == 0 ? io_step{io_state::ended, 0} : fail_with_errno(number);
      default: break;
    }
    const auto code = ERR_get_error();
    if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return {io_state::ended, 0};
    const auto verdict = SSL_get_verify_result(ssl_.get());
    auto [cause, reason] = verdict != X509_V_OK ? of_certificate(verdict) : of_error(code);
    return fail_with(cause, std::move(reason));
  }

  ssl_ptr ssl_;
  int socket_;
};

/// The only common name of a certificate, without characters that could mislead a reader.
std::optional<std::string> common_name(X509* certificate) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return std::nullopt;
  unsigned char* text = nullptr;
  const int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (length < 0) return std::nullopt;
  std::string name(text, text + length);
  OPENSSL_free(text);
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) { return ' ' <= c && c <= '~'; });
  if (name.empty() || !plain) return std::nullopt;
  return name;
}

std::optional<std::string> tls_stream::peer_name() const {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_.get()), X509_free);
  if (certificate == nullptr) return std::nullopt;
  return common_name(certificate.get());
}

/// The certificate must be for this host; a name is also sent, for servers that have several.
bool expect_host(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return true;
  return X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

std::unique_ptr<stream> make_tls_stream(int socket, const tls_context& context, const std::string& host) {
  ssl_ptr ssl(SSL_new(context.native()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket) != 1) return nullptr;
  if (context.is_server()) {
    SSL_set_accept_state(ssl.get());
  } else {
    SSL_set_connect_state(ssl.get());
    if (!expect_host(ssl.get(), host)) return nullptr;
  }
  return std::make_unique<tls_stream>(std::move(ssl), socket);
}

}  // namespace furlong::actors::net::detail
