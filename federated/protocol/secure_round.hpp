// The server's side of secure aggregation in one round after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "federated/experiment/update.hpp"
#include "federated/privacy/secure_aggregation/secure_letter.hpp"

namespace furlong::federated::privacy {
class mask_removal;
class secure_server;
}  // namespace furlong::federated::privacy

namespace furlong::federated::protocol {

/// The masked sum of the current round, if it has one, with the letters to be sent for it; and the clients that wait
/// for the next.
///   1. The members of a sum exchange keys and shares, and send masked updates.
///   2. When the round is closed, its survivors are asked for what hides the sum            begin_unmasking()
///   3. Once that is known, the masks are removed elsewhere                                 removal(), once
///   4. The sum is open, or it has failed, at any of these steps, and the round ends        end()
/// An excluded client violated the protocol or did not answer in time: its task is to be ended, which may take some
/// time where it must be withdrawn first.
/// In an asynchronous run clients that have an update wait with their keys until they fill a buffer; they take part in
/// one sum at most.
class secure_round {
 public:
  secure_round();
  ~secure_round();

  /// Of the rounds that begin from now on; without it keys are not signed.
  void check_keys_with(privacy::key_check check) { key_check_ = std::move(check); }
  [[nodiscard]] const privacy::key_check& key_check() const { return key_check_; }
  /// A round without a sum. Clients that wait go on waiting.
  void reset();
  /// The round's sum is that of `server`.
  void begin(std::unique_ptr<privacy::secure_server> server);
  /// The round is over: it has no sum any more.
  void end();

  /// True if the round has a sum.
  [[nodiscard]] bool is_begun() const { return server_ != nullptr; }
  /// True if the task is a member of the sum.
  [[nodiscard]] bool has(const task_id& task) const;
  /// True if that many masked updates are all that the sum can have.
  [[nodiscard]] bool has_all(std::size_t updates) const;
  /// True if its members still send keys.
  [[nodiscard]] bool exchanges_keys() const;
  /// Number of clients that sent keys.
  [[nodiscard]] std::size_t sent_keys() const;

  /// False if the letter is invalid.
  [[nodiscard]] bool receive(const privacy::secure_letter& letter);
  [[nodiscard]] privacy::secure_letters take_letters() { return std::exchange(letters_, {}); }
  /// The exchange has lasted long enough: returns the members that did not answer.
  [[nodiscard]] std::vector<task_id> stop_waiting();
  /// The task has ended without an update.
  void leave(const task_id& task);

  void exclude(const task_id& task) {
    if (!is_excluded(task)) excluded_.push_back(task);
  }
  [[nodiscard]] bool is_excluded(const task_id& task) const;
  [[nodiscard]] const std::vector<task_id>& excluded() const { return excluded_; }
  [[nodiscard]] std::vector<task_id> take_excluded() { return std::exchange(excluded_, {}); }

  /// Keys of a client that waits with its update for the next sum; those that it sent before are replaced. Excludes it
  /// if they are too long.
  void add_waiting(const privacy::secure_letter& keys);
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  /// The first clients that waited, as many as that; they do not any more.
  [[nodiscard]] privacy::secure_letters take_waiting(std::size_t clients);

  /// The round is closed, with these updates in the sum. False if that failed at once.
  [[nodiscard]] bool begin_unmasking(const std::vector<task_id>& survivors);
  /// True from then on until the sum is open, or has failed and end_unmasking() was called.
  [[nodiscard]] bool is_masked() const { return phase_ != phase::exchange; }
  /// True while survivors are asked for what hides the sum.
  [[nodiscard]] bool is_unmasking() const { return phase_ == phase::unmasking; }
  /// True while the masks are removed.
  [[nodiscard]] bool is_removing() const { return phase_ == phase::removal; }
  /// A survivor is reached again: it is asked again if it has not answered, or will not answer if it lost its task.
  void ask_again(const task_id& survivor, bool holds_task);
  /// What hides the sum, when it is known first; then null.
  [[nodiscard]] std::shared_ptr<const privacy::mask_removal> removal();

  /// The sum cannot be opened, for this reason.
  void fail(std::string reason);
  [[nodiscard]] bool has_failed() const;
  [[nodiscard]] const std::string& failure() const;
  /// The sum is open or has failed. False if it was not masked.
  bool end_unmasking() { return std::exchange(phase_, phase::exchange) != phase::exchange; }

 private:
  enum class phase : std::uint8_t { exchange, unmasking, removal };

  privacy::key_check key_check_;
  std::unique_ptr<privacy::secure_server> server_;
  phase phase_ = phase::exchange;
  privacy::secure_letters letters_;  ///< to be sent
  privacy::secure_letters waiting_;  ///< keys of clients with an update, by arrival
  std::vector<task_id> excluded_;
};

}  // namespace furlong::federated::protocol
