// The content of a certificate.
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

}  // namespace furlong::actors::tls
