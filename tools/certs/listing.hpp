// The contents of a folder of authorities, or in one that --tls names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "actors/tls/certificate.hpp"
#include "actors/tls/identity.hpp"
#include "base/result.hpp"

namespace furlong::tools::certs {

struct listed {
  std::string tier;  ///< "operator" or "clients"
  std::string role;  ///< "authority", "server", "aggregator", "node"
  std::string name;
  std::string clients;  ///< "100-149"; empty: not a node
  std::uint64_t serial = 0;
  actors::tls::instant not_after;
  std::string state;               ///< "valid", "expires soon", "expired", "denied"
  std::vector<std::string> hosts;  ///< of a gateway, where its certificate was read
};

struct listing {
  std::vector<listed> rows;
  std::optional<error> problem;    ///< why --tls would not accept the folder
  std::vector<std::string> notes;  ///< what --tls would warn about
};

/// Lists a folder of authorities with all that they issued; or the certificates of a node, server or aggregator, and
/// whether the folder is sound. Fails (kind data) when the place is neither.
[[nodiscard]] result<listing> list_certificates(const std::filesystem::path& place,
                                                actors::tls::instant now = actors::tls::wall_clock());

// What an authority has issued: index.jsonl, one object a line.

struct issued {
  std::uint64_t serial = 0;
  std::string name;
  std::string role;                                ///< "node", "server" or "aggregator"
  std::optional<federated::client_range> clients;  ///< of a node
  actors::tls::instant not_after;

  /// A node's: NAME/FIRST-LAST/SERIAL; otherwise the name.
  [[nodiscard]] std::string common_name() const;
  friend bool operator==(const issued&, const issued&) = default;
};

/// A line, with its end.
[[nodiscard]] std::string to_line(const issued& certificate);

/// All lines of a file. Fails (kind data) at the first that to_line() did not write.
[[nodiscard]] result<std::vector<issued>> read_index(const std::filesystem::path& file);

}  // namespace furlong::tools::certs
