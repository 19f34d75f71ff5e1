// The identity of a node: the common name of its certificate, NAME/FIRST-LAST/SERIAL, e.g. "rack-3/100-149/17".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::actors::tls {

/// A node's identity, certified by the client tier's authority.
struct node_identity {
  std::string name;                 ///< is_name()
  federated::client_range clients;  ///< that it may report for
  std::uint64_t serial = 0;         ///< of the certificate, from 1

  friend bool operator==(const node_identity&, const node_identity&) = default;
};

/// X.509's limit of a common name.
inline constexpr std::size_t longest_common_name = 64;
inline constexpr std::size_t longest_name = 40;

/// True for 1 to 40 letters, digits and - _ . that begin with a letter or digit.
[[nodiscard]] bool is_name(std::string_view text);

/// Reads "FIRST-LAST", both below 2^32, without leading zeros or signs, first not above last.
/// Errors (kind usage) quote the text.
[[nodiscard]] result<federated::client_range> parse_client_range(std::string_view text);
/// "FIRST-LAST".
[[nodiscard]] std::string to_string(const federated::client_range& clients);

/// Parses a common name strictly: exactly the format of to_common_name(), so that each identity has one spelling and a
/// deny list can compare texts. Errors have kind data.
[[nodiscard]] result<node_identity> parse_common_name(std::string_view text);
/// "NAME/FIRST-LAST/SERIAL".
[[nodiscard]] std::string to_common_name(const node_identity& of);

}  // namespace furlong::actors::tls
