// TLS certificates and settings of one side of a connection.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.hpp"

struct ssl_ctx_st;

namespace furlong::actors::net {

/// PEM files: the certificate with any intermediate ones, its key, the trusted authority.
struct tls_paths {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;
};

/// TLS 1.3 with certificates on both sides, without tickets, session resumption and compression. A server requires a
/// client certificate of its authority; a client requires a server certificate for the host name or address that it
/// connects to. Copies share one context. Thread-safe.
///
/// Between the processes of an operator each certificate is valid for both sides: servers use for_server().
class tls_context {
 public:
  /// Reads the files. Errors of kind data name the file: unreadable, not PEM, a key of another certificate.
  [[nodiscard]] static result<tls_context> for_server(const tls_paths& paths);
  [[nodiscard]] static result<tls_context> for_client(const tls_paths& paths);
  /// A client that connects to an operator port: it also accepts a certificate that names no host at all, as those do
  /// that were issued before operator certificates named their hosts.
  [[nodiscard]] static result<tls_context> for_operator_client(const tls_paths& paths);

  [[nodiscard]] ssl_ctx_st* native() const { return context_.get(); }
  [[nodiscard]] bool is_server() const { return server_; }

 private:
  tls_context(std::shared_ptr<ssl_ctx_st> context, bool server) : context_(std::move(context)), server_(server) {}
  static result<tls_context> make(const tls_paths& paths, bool server);

  std::shared_ptr<ssl_ctx_st> context_;
  bool server_;
};

}  // namespace furlong::actors::net
