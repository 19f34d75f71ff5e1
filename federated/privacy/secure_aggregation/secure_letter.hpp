// The letters between the server and the clients of a round with secure aggregation. Aggregators and nodes pass them on
// and do not read them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/crypto.hpp"
#include "base/digest.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::federated::privacy {

enum class secure_step : std::uint8_t {
  keys,        ///< client to server: public keys
  neighbours,  ///< server to client: its neighbours and their keys
  shares,      ///< client to server: shares of its secrets, sealed for each neighbour
  peers,       ///< server to client: shares that neighbours sealed for it; with these it masks its update
  unmask,      ///< server to client: whose updates are in the sum
  reveal,      ///< client to server: shares that open the sum
  abandon,     ///< server to client: the round came to nothing
  confirm,     ///< client to server: for each peer in the sum, a tag of the list that it was sent
  confirmed,   ///< server to client: tags of its peers; with enough of its own list's it reveals
};
constexpr std::size_t secure_step_count = 9;

struct secure_letter {
  task_id task;
  secure_step step = secure_step::keys;
  crypto::bytes content;
  friend bool operator==(const secure_letter&, const secure_letter&) = default;
};
using secure_letters = std::vector<secure_letter>;

/// Bytes of the content of keys at most.
constexpr std::size_t longest_keys = 10'000;

/// The reason why a signature is not that of a certificate for this client; empty: it is.
using key_check = std::function<std::string(std::uint32_t client, crypto::bytes_view certificate,
                                            crypto::bytes_view statement, crypto::bytes_view signature)>;

/// Of an `unmask`, whose whole content is the list of survivors.
[[nodiscard]] inline digest survivors_of(const secure_letter& request) {
  return sha256(std::as_bytes(std::span(request.content)));
}

/// The answer of a client that gives no shares.
[[nodiscard]] inline secure_letter no_shares(const task_id& task) { return {task, secure_step::reveal, {0, 0, 0, 0}}; }

/// Bytes of a letter on a network, for accounting.
[[nodiscard]] inline std::uint64_t letter_bytes(const secure_letter& of) { return 32 + of.content.size(); }

}  // namespace furlong::federated::privacy
