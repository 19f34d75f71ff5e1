// Certificates of an operator's tier for tests.
#pragma once

#include "actors/aggregator_transport/configure.hpp"
#include "tests/net/test_pki.hpp"

namespace furlong::tests {

/// An authority with a folder of its own.
class test_authority {
 public:
  /// A certificate of this authority, for both ends of links. `ends`: seconds from now.
  [[nodiscard]] actors::aggregator_transport::operator_files issue(const std::string& name, long ends = 3600) {
    certificate_request request;
    request.common_name = name;
    request.use = "serverAuth,clientAuth";
    request.ends = ends;
    const auto paths = pki_.issue(request);
    return {paths.certificate, paths.key, paths.authority};
  }

 private:
  test_pki pki_;
};

}  // namespace furlong::tests
