// What the tests of certificates have in common.
#pragma once

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>

#include "tests/support/temporary_folder.hpp"
#include "tools/certs/pki.hpp"

namespace furlong::tests {

namespace fs = std::filesystem;
namespace certs = tools::certs;
namespace tls = actors::tls;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The value of a result that must be one.
template <class T>
T must(result<T> outcome) {
  if (!outcome) BOOST_FAIL(outcome.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

/// The error of a result that must be one; its text must contain `part`.
template <class T>
error must_fail(const result<T>& outcome, const std::string& part) {
  if (outcome) BOOST_FAIL("succeeds, and should fail with: " + part);
  BOOST_TEST(has(outcome.error().text(), part), outcome.error().text() << " does not say: " << part);
  return outcome.error();
}

inline std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in, file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Keeps the mode of a file that exists.
inline void write_file(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

inline unsigned mode_of(const fs::path& path) {
  struct stat facts {};
  BOOST_REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 0777U;
}

/// Some time in 2030: certificates of these tests do not depend on the clock, unless it is what they test.
inline constexpr tls::instant some_day{std::chrono::seconds{1'900'000'000}};

/// Authorities, and folders made with them.
struct federation {
  temporary_folder folder;
  tls::instant now;

  explicit federation(tls::instant at = some_day) : now(at) { must(certs::pki::create(pki_path(), 3650, now)); }
  [[nodiscard]] fs::path pki_path() const { return folder / "pki"; }
  [[nodiscard]] certs::pki pki() const { return must(certs::pki::open(pki_path(), now)); }

  [[nodiscard]] certs::issue_request node_request(const std::string& name, std::uint32_t first,
                                                  std::uint32_t last) const {
    static std::atomic<int> count = 0;
    certs::issue_request request;
    request.name = name;
    request.clients = {first, last};
    request.out = folder / (name + "-" + std::to_string(count++));
    return request;
  }
  /// Issues to a node: the folder.
  [[nodiscard]] fs::path node(const std::string& name = "rack-3", std::uint32_t first = 100,
                              std::uint32_t last = 149) const {
    const auto request = node_request(name, first, last);
    must(pki().issue(request));
    return request.out;
  }
  /// Issues to a server: the folder.
  [[nodiscard]] fs::path server(const std::string& name = "head", std::vector<std::string> hosts = {}) const {
    certs::issue_request request;
    request.as = certs::role::server;
    request.name = name;
    request.hosts = std::move(hosts);
    request.out = folder / name;
    must(pki().issue(request));
    return request.out;
  }
};

}  // namespace furlong::tests
