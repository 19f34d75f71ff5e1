// Keys on the curve P-256 and certificates with them.
//
// What a gateway's certificate says it may be called by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actors/tls/certificate.hpp"
#include "base/result.hpp"

namespace furlong::tools::certs {

struct host_name {
  std::string text;      ///< a DNS name in lower case, or an address as it was written
  bool address = false;  ///< IPv4 or IPv6
  friend bool operator==(const host_name&, const host_name&) = default;
};

/// Reads a DNS name without wildcard, or an IPv4 or IPv6 address without brackets; neither with a port. Errors have
/// kind usage.
[[nodiscard]] result<host_name> parse_host(std::string_view text);

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
