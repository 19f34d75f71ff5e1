// The folder of --tls, checked before anything listens or connects. A key that does not match its certificate would
// otherwise end the server at the first connection, and a wrong authority would only show as a rejection by the peer.
//
//   a node's folder:                    certificate.pem  key.pem  authority.pem
//   a server's or an aggregator's:      operator/{certificate,key,authority}.pem    towards servers and aggregators
//                                       gateway/{certificate,key,authority}.pem     towards nodes
//                                       deny.txt                                    denied nodes
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/tls/certificate.hpp"
#include "actors/tls/identity.hpp"

namespace furlong::actors::tls {

/// The files of a TLS connection of one tier. They were read, and match.
struct tier_credentials {
  std::filesystem::path certificate;
  std::filesystem::path key;        ///< accessible to its owner only
  std::filesystem::path authority;  ///< issuer of the peers' certificates
  certificate_facts facts;
  instant until;  ///< when the certificate or its authority expires, whichever is first
};

struct node_credentials {
  tier_credentials tier;
  node_identity identity;
  std::vector<std::string> notes;  ///< for the log: what will expire within expiry_notice
};

/// Of a server or an aggregator: the operator tier does not distinguish them.
struct operator_credentials {
  tier_credentials operator_tier;
  tier_credentials gateway;        ///< facts.hosts: addresses for nodes
  std::filesystem::path deny;      ///< for deny_list::load(); has been read once
  std::vector<std::string> notes;  ///< for the log: what will expire within expiry_notice
};

inline constexpr std::chrono::days expiry_notice{14};

/// Loads a node's folder. Errors (kind data) name the file: it is missing or damaged; the key is accessible to others,
/// or of another certificate; the certificate is of another authority, expired, not valid yet, or not a node's.
[[nodiscard]] result<node_credentials> load_node_credentials(const std::filesystem::path& folder,
                                                             instant now = wall_clock());

/// Loads a server's or an aggregator's folder. Errors as above; also if both tiers trust the same authority, because
/// then every node could use the operator port.
[[nodiscard]] result<operator_credentials> load_operator_credentials(const std::filesystem::path& folder,
                                                                     instant now = wall_clock());

}  // namespace furlong::actors::tls
