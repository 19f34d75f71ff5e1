// Certificates for tests: authorities and what they issue, made on the spot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/net/tls_context.hpp"

namespace furlong::tests {

struct certificate_request {
  std::string common_name = "node/0-9/1";
  bool server = false;                  ///< fit for servers, or else for clients
  std::vector<std::string> names = {};  ///< subjectAltName: "DNS:localhost", "IP:127.0.0.1"
  long begins = -3600;                  ///< seconds from now
  long ends = 3600;                     ///< seconds from now
  std::string authority = "authority";  ///< who signs; made when it is named first
  std::string trusts = "authority";     ///< whose certificates the holder accepts
};

/// A folder of PEM files that is removed with it. Throws std::runtime_error.
class test_pki {
 public:
  test_pki();
  ~test_pki();
  test_pki(const test_pki&) = delete;
  test_pki& operator=(const test_pki&) = delete;

  [[nodiscard]] actors::net::tls_paths issue(const certificate_request& request);
  /// A node's, and a gateway's for localhost and 127.0.0.1.
  [[nodiscard]] actors::net::tls_paths node(const std::string& common_name = "node/0-9/1");
  [[nodiscard]] actors::net::tls_paths gateway();
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int issued_ = 0;
};

}  // namespace furlong::tests
