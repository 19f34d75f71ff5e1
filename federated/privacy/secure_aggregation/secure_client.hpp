// A client of one round with secure aggregation, as a state machine (Bell et al. 2020, algorithm 2; Bonawitz et al.
// 2017, figure 4):
//
//   1. Two X25519 key pairs and the seed of an own mask are drawn; the public keys go to the server   -> keys
//   2. The server says who the neighbours are. The seed and the masking key are split into shares, so that the
//      round's threshold of neighbours can restore either, and each neighbour's shares are sealed for it
//                                                                          <- neighbours             -> shares
//   3. Neighbours that sent shares are peers. The update's words get the own mask and a mask shared with each peer,
//      which cancels in the sum                                            <- peers                   : mask()
//   4. The server says whose updates are in the sum: a list of clients. The client tells each peer in it, by a tag
//      that the server cannot make, which list it was sent               <- unmask                 -> confirm
//   5. When most peers were sent the same list, the client gives its share of the own mask of each peer in it, and of
//      the masking key of each other peer: never both of one peer, and for one list only
//                                                                          <- confirmed              -> reveal
//
// Secrets are in memory only, for one task.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"
#include "federated/privacy/secure_aggregation/secure_letter.hpp"

namespace furlong::federated::privacy {

/// How clients know each other's keys from keys that the server made up: by certificates.
struct key_identity {
  crypto::bytes certificate;  ///< of the process that hosts the client
  std::function<crypto::bytes(crypto::bytes_view statement)> sign;
  key_check check;
};
using key_identity_ptr = std::shared_ptr<const key_identity>;

/// What a client works on. Neighbours with other inputs are refused: beside updates that the server knows, such as
/// those of a model without gradient or of a tiny learning rate, a sum would show one update.
struct sum_inputs {
  digest terms{};  ///< of all that is the same for all tasks of a run: its scenario and the facts of its data
  digest model{};  ///< of the broadcast of the task's version
};

/// What a client knows of the sum that its update goes into, whatever the server says.
struct sum_terms {
  adversary_kind against = adversary_kind::semi_honest;
  bool one_version = false;               ///< all tasks are of the version that the sum is applied to (synchronous)
  std::uint32_t fewest = fewest_clients;  ///< clients that exchange keys, and whose updates are in the sum
  std::uint32_t most = UINT32_MAX;        ///< clients that exchange keys: more have fewer neighbours each
  std::uint64_t rounds = UINT64_MAX;      ///< of the run: sums for their versions only
};

/// Not thread-safe.
class secure_client {
 public:
  /// @param identity null: keys are neither signed nor checked
  secure_client(const task_id& task, const sum_terms& terms, const sum_inputs& inputs, crypto::random_source random,
                key_identity_ptr identity = {});
  ~secure_client();
  secure_client(secure_client&&) noexcept;
  secure_client& operator=(secure_client&&) noexcept;

  [[nodiscard]] const task_id& task() const;
  [[nodiscard]] const digest& model() const;  ///< sum_inputs::model
  /// The newest letter to the server: send it again in a new session.
  [[nodiscard]] const secure_letter& last() const;
  /// A letter of the server; returns the answer, if there is one. A letter that came before is answered as before. An
  /// error (kind runtime): the letter breaks the protocol, and the client takes no further part.
  [[nodiscard]] result<std::optional<secure_letter>> on_letter(const secure_letter& letter);
  /// The server's version to which the sum will be applied, as the server says; known with the peers.
  [[nodiscard]] std::uint64_t version() const;
  /// SHA-256 of a secret of this object: no other one has the same.
  [[nodiscard]] digest commitment() const;
  [[nodiscard]] bool has_masked() const;
  /// True once the peers are known.
  [[nodiscard]] bool can_mask() const;
  /// Adds the masks to the words of the update. Once: an error (kind runtime) before peers are known, and the second
  /// time, since the difference of two updates with one mask is no secret.
  [[nodiscard]] result<void> mask(std::span<std::int64_t> words);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace furlong::federated::privacy
