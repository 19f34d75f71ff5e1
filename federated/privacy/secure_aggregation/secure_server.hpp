// The server of one round with secure aggregation, as a state machine (Bell et al. 2020, algorithm 2):
//
//   1. Each client of the cohort sends keys, or drops out              <- keys
//   2. The graph is drawn over those that did                          -> neighbours
//   3. Each sends shares for its neighbours, or drops out              <- shares
//   4. Each gets its neighbours' shares                                -> peers
//   5. Their masked updates are added anywhere, modulo 2^64. Those that arrived are the survivors: begin_unmasking()
//                                                                      -> unmask
//   6. Each survivor tells its peers which list of survivors it got; once enough of a survivor's peers have, it learns
//      so                                                              <- confirm     -> confirmed
//   7. With `threshold` shares of the own mask of each survivor, and of the masking key of each client of step 4 that
//      is none, the masks that are left in the sum can be removed      <- reveal      : removal()
//
// A client gives one kind of share of each peer, never both. If fewer than `survivors` clients are
// left at any step, or a secret cannot be restored, the round is abandoned and nothing is opened   -> abandon
//
// Memory: a few hundred bytes for each neighbour of each client, while shares are passed on.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "federated/privacy/secure_aggregation/detail/keys.hpp"
#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"
#include "federated/privacy/secure_aggregation/secure_letter.hpp"

namespace furlong::federated::privacy {

/// The masks that are left in the sum of the survivors' words. Immutable; thread-safe.
class mask_removal {
 public:
  /// Number of masks.
  [[nodiscard]] std::size_t size() const { return own_.size() + pairs_.size(); }
  /// Removes the masks numbered part, part + parts, ... from `words`. Adding the results of all parts (one of which
  /// began with the sum, the others with zeros) modulo 2^64 gives the sum without masks. A pair costs a key agreement
  /// (~25 us) and a stream of 8 bytes per word.
  void apply(std::span<std::int64_t> words, std::size_t part = 0, std::size_t parts = 1) const;

 private:
  friend class secure_server;
  struct pair {
    std::shared_ptr<const crypto::agreement_key> key;  ///< of the client that dropped out
    detail::pair_side gone;
    detail::pair_side survivor;
    crypto::key masking;  ///< public key of the survivor
  };
  detail::sum_context in_;
  std::vector<crypto::key> own_;
  std::vector<pair> pairs_;
};

/// What the clients of a sum work on (sum_inputs), as the server knows it.
struct known_inputs {
  digest terms{};
  std::map<std::uint64_t, digest> models = {};  ///< by version; one that is missing is not checked
  std::uint32_t fewest = fewest_clients;        ///< sum_terms::fewest
};

/// Not thread-safe.
class secure_server {
 public:
  enum class stage : std::uint8_t { keys, shares, masking, unmasking, open, failed };

  /// @param cohort tasks of one run, of distinct clients
  /// @param version the server's, to which the sum will be applied
  /// @param inputs a client with others drops out
  /// @param check of keys; empty: they are not signed
  secure_server(const std::vector<task_id>& cohort, std::uint64_t version, adversary_kind against, known_inputs inputs,
                crypto::random_source random, key_check check = {});
  ~secure_server();

  [[nodiscard]] stage at() const { return at_; }
  /// Why it failed.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] bool has(const task_id& task) const;
  /// Clients that have not dropped out.
  [[nodiscard]] std::size_t present() const;
  /// The round's parameters, once its clients have sent keys.
  [[nodiscard]] const graph_parameters& parameters() const { return parameters_; }

  /// A client's letter. One that came before is answered again. False: it is invalid, and its client has dropped out.
  [[nodiscard]] bool on_letter(const secure_letter& letter, secure_letters& out);
  /// This task has ended without an update, or the client will send no more letters.
  void on_gone(const task_id& task, secure_letters& out);
  /// The exchange of keys and shares has lasted long enough: clients that have not done their part of this stage have
  /// dropped out. Returns them.
  [[nodiscard]] std::vector<task_id> stop_waiting(secure_letters& out);
  /// Masked updates of exactly these tasks are in the sum. Without sufficient survivors the round fails at once.
  void begin_unmasking(const std::vector<task_id>& survivors, secure_letters& out);
  /// The request to a survivor that has not answered it; nothing if it has, or is none.
  [[nodiscard]] std::optional<secure_letter> unanswered(const task_id& task) const;
  /// The round came to nothing.
  void fail(std::string why, secure_letters& out);
  /// What hides the sum still. Only when open.
  [[nodiscard]] const mask_removal& removal() const { return removal_; }

 private:
  struct client;
  [[nodiscard]] client* find(const task_id& task);
  [[nodiscard]] bool is_done(const client& member) const;
  void enter(stage next);
  [[nodiscard]] bool needs_shares(const client& member) const;
  [[nodiscard]] bool take_keys(client& sender, crypto::bytes_view content);
  [[nodiscard]] bool take_shares(client& sender, crypto::bytes_view content);
  [[nodiscard]] bool take_tags(client& sender, crypto::bytes_view content);
  [[nodiscard]] bool take_reveal(client& sender, crypto::bytes_view content);
  void advance(secure_letters& out);
  void send_neighbours(secure_letters& out);
  void send_peers(secure_letters& out);
  [[nodiscard]] secure_letter neighbours_of(const client& member) const;
  [[nodiscard]] secure_letter peers_of(const client& member) const;
  [[nodiscard]] secure_letter request_to(const client& member) const;
  [[nodiscard]] secure_letter confirmations_of(const client& member) const;
  void answer_tags(client& member, secure_letters& out);
  void leave_out_unconfirmed(const client& gone);
  void open_if_possible(secure_letters& out);
  [[nodiscard]] bool restore(secure_letters& out);

  std::uint64_t version_;
  adversary_kind against_;
  known_inputs inputs_;
  crypto::random_source random_;
  key_check check_;
  graph_parameters parameters_;
  stage at_ = stage::keys;
  std::string failure_;
  std::map<std::uint32_t, client> clients_;  ///< by number
  crypto::bytes survivors_;                  ///< their list, as clients get it
  std::size_t waited_for_ = 0;               ///< clients that are there and have not done their part of the stage
  std::size_t lacking_ = 0;                  ///< clients of whose secrets more shares are needed
  mask_removal removal_;
};

}  // namespace furlong::federated::privacy
