// What an authority has issued: index.jsonl, one object a line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "actors/tls/certificate.hpp"
#include "actors/tls/identity.hpp"

namespace furlong::tools::certs {

struct issued {
  std::uint64_t serial = 0;
  std::string name;
  std::string role;                                          ///< "node", "server" or "aggregator"
  std::optional<federated::protocol::client_range> clients;  ///< of a node
  actors::tls::instant not_after;

  /// A node's: NAME/FIRST-LAST/SERIAL; otherwise the name.
  [[nodiscard]] std::string common_name() const;
  friend bool operator==(const issued&, const issued&) = default;
};

/// A line, with its end.
[[nodiscard]] std::string to_line(const issued& one);

/// All lines of a file. Fails (kind data) at the first that to_line() did not write.
[[nodiscard]] result<std::vector<issued>> read_index(const std::filesystem::path& file);

}  // namespace furlong::tools::certs
