// Certificates: their content, and checks against an authority.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "actors/tls/handles.hpp"
#include "base/result.hpp"

namespace furlong::actors::tls {

/// Wall clock, UTC.
using instant = std::chrono::sys_seconds;

[[nodiscard]] instant wall_clock();
/// "2027-11-21T14:00:00Z".
[[nodiscard]] std::string to_string(instant when);

struct certificate_facts {
  std::string common_name;
  std::string
      role;  ///< organizational unit: "server", "aggregator", "node"; empty for an authority or a foreign certificate
  std::string issuer;        ///< common name of the authority
  std::uint64_t serial = 0;  ///< 0 if it does not fit
  instant not_before;
  instant not_after;               ///< not valid any more from this second on
  bool as_client = false;          ///< extendedKeyUsage clientAuth
  bool as_server = false;          ///< extendedKeyUsage serverAuth
  std::vector<std::string> hosts;  ///< subjectAltName: DNS names and addresses
};

/// Fails (kind data) if the subject has no common name or several, or if a field cannot be read. `place` is that of the
/// error.
[[nodiscard]] result<certificate_facts> facts_of(const X509& certificate, const std::string& place);

/// The facts of a file that holds exactly one certificate.
[[nodiscard]] result<certificate_facts> read_facts(const std::filesystem::path& file);

/// The common name, of the subject alone; an error as of facts_of().
[[nodiscard]] result<std::string> common_name_of(const X509& certificate, const std::string& place);

// ---- the chain: was the certificate issued by a trusted authority, and is it valid now?
// ------------------------------

/// The use of a certificate in a TLS connection. The authority must permit it too.
enum class tls_side : std::uint8_t { client, server };

/// The authorities of a file, in the order of the file. Fails if one of them is not an authority.
[[nodiscard]] result<std::vector<x509_ptr>> read_authorities(const std::filesystem::path& file);

/// Checks signature, purpose and time of the certificate and of its authority, like TLS at each connection, and the
/// authority's own signature. `file` and `authorities_file` are named in errors. Returns until when both certificate
/// and authority are valid.
[[nodiscard]] result<instant> check_chain(X509& certificate, const std::filesystem::path& file,
                                          const std::vector<x509_ptr>& authorities,
                                          const std::filesystem::path& authorities_file, tls_side side, instant now);

}  // namespace furlong::actors::tls
