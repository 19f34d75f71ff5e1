// Certificates for tests: authorities and what they issue, made on the spot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/net/tls_context.hpp"
#include "tests/support/temporary_folder.hpp"

namespace furlong::tests {

struct certificate_request {
  std::string common_name = "node/0-9/1";
  std::string use = "clientAuth";       ///< extendedKeyUsage: "serverAuth", "serverAuth,clientAuth"
  std::vector<std::string> names = {};  ///< subjectAltName: "DNS:localhost", "IP:127.0.0.1"
  long begins = -3600;                  ///< seconds from now
  long ends = 3600;                     ///< seconds from now
  std::string authority = "authority";  ///< who signs; made when it is named first
  std::string trusts = "authority";     ///< whose certificates the holder accepts
};

/// A folder of PEM files that is removed with it. Throws std::runtime_error.
class test_pki {
 public:
  [[nodiscard]] actors::net::tls_paths issue(const certificate_request& request);
  /// A node's, and a gateway's for localhost and 127.0.0.1.
  [[nodiscard]] actors::net::tls_paths node(const std::string& common_name = "node/0-9/1");
  [[nodiscard]] actors::net::tls_paths gateway();
  /// Takes over an authority that `furlong certs` made, under a name.
  void adopt(const std::filesystem::path& tier, const std::string& name);
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  [[nodiscard]] std::filesystem::path certificate_of(const std::string& authority) const;
  [[nodiscard]] std::filesystem::path key_of(const std::string& authority) const;

  temporary_folder folder_;
  int issued_ = 0;
};

}  // namespace furlong::tests
