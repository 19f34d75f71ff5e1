// Certificates and rules of TLS for one side of the node transport.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.hpp"

struct ssl_ctx_st;

namespace furlong::actors::net {

/// PEM files: the certificate with what stands between it and the authority, its key, the authority to trust.
struct tls_paths {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;
};

/// TLS 1.3 with certificates on both sides; no tickets, no session is resumed, nothing is compressed. A server wants a
/// client's certificate of its authority, fit for clients; a client wants a server's, fit for servers and for the very
/// host name or address that it connects to. Copies share one context. Thread-safe.
class tls_context {
 public:
  /// Reads the files. Errors of kind data name the file: unreadable, no PEM, a key of another certificate.
  [[nodiscard]] static result<tls_context> for_server(const tls_paths& paths);
  [[nodiscard]] static result<tls_context> for_client(const tls_paths& paths);

  [[nodiscard]] ssl_ctx_st* native() const { return context_.get(); }
  [[nodiscard]] bool is_server() const { return server_; }

 private:
  tls_context(std::shared_ptr<ssl_ctx_st> context, bool server) : context_(std::move(context)), server_(server) {}
  static result<tls_context> make(const tls_paths& paths, bool server);

  std::shared_ptr<ssl_ctx_st> context_;
  bool server_;
};

}  // namespace furlong::actors::net
