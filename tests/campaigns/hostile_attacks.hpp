// Hostile inputs to the ports of a federation, without a certificate or with a node's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/net/tls_context.hpp"
#include "base/random.hpp"
#include "federated/protocol/messages.hpp"
#include "tests/net/raw_peer.hpp"
#include "wire/encode.hpp"

namespace furlong::campaigns {

namespace protocol = federated::protocol;

/// The client's credentials by the defect of the certificate: "none", "expired", "foreign", "denied", ...; "good" is
/// valid.
using identities = std::map<std::string, actors::net::tls_context>;

/// A port under attack, and the data of the run that an admitted node has. Immutable; shared by all threads.
struct target {
  std::string name;  ///< "server", "aggregator", "operator"
  std::uint16_t port = 0;
  const identities* as = nullptr;
  // Of a gateway:
  federated::client_range clients;  ///< of the good certificate
  std::uint64_t run = 0;
  models::layout_ptr shape;
  std::vector<protocol::client_sizes> sizes;
  std::string avoid;  ///< a field of the hello with which the server's gateway does not redirect the node
};

/// Counts of all threads.
struct attack_counts {
  std::atomic<std::uint64_t> inputs{0};
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> handshakes{0};  ///< completed on this side
  std::atomic<std::uint64_t> unanswered{0};  ///< connections that the port did not end within 10 s
};

struct attack {
  const char* name;
  bool on_operators;  ///< at the operator port; otherwise at gateways
  unsigned weight;    ///< of 100 inputs to the kind of port
  /// Makes one connection and sends all its inputs.
  void (*make)(const target& of, random_stream& random, attack_counts& counts);
};

/// All of them.
[[nodiscard]] const std::vector<attack>& attacks();

/// A frame with a few bytes or words changed, truncated, or with a repeated part; a multiple of 8 bytes. In half of the
/// cases its header matches its length, so that later checks are reached.
[[nodiscard]] tests::bytes mutated(std::span<const std::byte> frame, random_stream& random);
/// A frame of each kind that a node may send, with random tasks.
[[nodiscard]] tests::bytes node_frame(const target& of, random_stream& random);

}  // namespace furlong::campaigns
