// Verifies that a certificate was issued by a trusted authority and is valid now.
#pragma once

#include <filesystem>
#include <vector>

#include "actors/tls/certificate.hpp"

namespace furlong::actors::tls {

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
