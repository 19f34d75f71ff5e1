// Whether a certificate was made by an authority that is trusted, and is valid now.
#pragma once

#include <filesystem>
#include <vector>

#include "actors/tls/certificate.hpp"

namespace furlong::actors::tls {

/// What a certificate is used for in a TLS connection. The authority must be fit for it too.
enum class tls_side : std::uint8_t { client, server };

/// The authorities of a file, in the order of the file. Fails when one of them is not an authority.
[[nodiscard]] result<std::vector<x509_ptr>> read_authorities(const std::filesystem::path& file);

/// Checks signature, purpose and time of the certificate and of its authority, as TLS does with each connection. A
/// damaged authority, whose own signature does not fit, is found too. `file` and `authorities_file` go into the error.
/// Returns until when certificate and authority both are valid.
[[nodiscard]] result<instant> check_chain(X509& certificate, const std::filesystem::path& file,
                                          const std::vector<x509_ptr>& authorities,
                                          const std::filesystem::path& authorities_file, tls_side side, instant now);

}  // namespace furlong::actors::tls
