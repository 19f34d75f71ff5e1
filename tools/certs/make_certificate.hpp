// Keys on the curve P-256 and certificates with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/tls/certificate.hpp"
#include "tools/certs/host.hpp"

namespace furlong::tools::certs {

using actors::tls::instant;
using actors::tls::key_ptr;
using actors::tls::x509_ptr;

/// Who shows the certificate to whom.
enum class purpose : std::uint8_t {
  authority,  ///< nobody: it makes others
  client,     ///< clientAuth
  server,     ///< serverAuth
  both        ///< both of them
};

struct certificate_spec {
  std::string common_name;
  std::string role;  ///< organizational unit; empty: none
  std::uint64_t serial = 0;
  instant not_before;
  instant not_after;
  purpose use = purpose::client;
  std::vector<host_name> hosts;  ///< subjectAltName
};

/// A new key of the system's random numbers.
[[nodiscard]] result<key_ptr> make_key();

/// A certificate over the public half of `key`, made by an authority. An authority of its own is made with
/// `issuer` = nullptr and `issuer_key` = `key`. Errors (kind runtime) are OpenSSL's.
[[nodiscard]] result<x509_ptr> make_certificate(const certificate_spec& spec, EVP_PKEY& key, const X509* issuer,
                                                EVP_PKEY& issuer_key);

[[nodiscard]] result<std::string> to_pem(const X509& certificate);
/// Unencrypted PKCS #8. Wipe it after use.
[[nodiscard]] result<std::string> to_pem(const EVP_PKEY& key);

}  // namespace furlong::tools::certs
