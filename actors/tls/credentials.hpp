// The folder that --tls names, checked before anything listens or connects. A key that does not fit its certificate
// would otherwise end the server at the first connection, and a wrong authority show as a refusal at the far end.
//
//   a node's folder:                    certificate.pem  key.pem  authority.pem
//   a server's or an aggregator's:      operator/{certificate,key,authority}.pem    towards servers and aggregators
//                                       gateway/{certificate,key,authority}.pem     towards nodes
//                                       deny.txt                                    nodes that are not let in any more
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/tls/certificate.hpp"
#include "actors/tls/identity.hpp"

namespace furlong::actors::tls {

/// What a TLS connection of one tier needs. The files were read and fit each other.
struct tier_credentials {
  std::filesystem::path certificate;
  std::filesystem::path key;        ///< only its owner may use it
  std::filesystem::path authority;  ///< who made the certificates of the other side
  certificate_facts facts;
  instant until;  ///< when the certificate or an authority above it expires first
};

struct node_credentials {
  tier_credentials tier;
  node_identity identity;
  std::vector<std::string> notes;  ///< for the log: what will expire within expiry_notice
};

/// Of a server or of an aggregator: the operator tier does not tell them apart.
struct operator_credentials {
  tier_credentials operator_tier;
  tier_credentials gateway;        ///< facts.hosts: how nodes may address it
  std::filesystem::path deny;      ///< for deny_list::load(), which accepts it
  std::vector<std::string> notes;  ///< for the log: what will expire within expiry_notice
};

inline constexpr std::chrono::days expiry_notice{14};

/// Loads a node's folder. Errors (kind data) name the file: it is missing or damaged; the key is open to others, or
/// another certificate's; the certificate is another authority's, or expired, or not valid yet, or not a node's.
[[nodiscard]] result<node_credentials> load_node_credentials(const std::filesystem::path& folder,
                                                             instant now = wall_clock());

/// Loads a server's or an aggregator's folder. Errors as above; also when both tiers trust the same authority, for then
/// every node could open the operator's port.
[[nodiscard]] result<operator_credentials> load_operator_credentials(const std::filesystem::path& folder,
                                                                     instant now = wall_clock());

}  // namespace furlong::actors::tls
