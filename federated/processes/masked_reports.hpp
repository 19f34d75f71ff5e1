// Updates that wait for their keys under secure aggregation: the secrets of a process's clients for their tasks, and
// the plain updates that cannot be masked yet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "federated/client/secure_tasks.hpp"

namespace furlong::federated::processes {

/// What came of masking an update.
struct masking {
  enum class kind : std::uint8_t {
    masked,  ///< it may be sent
    waits,   ///< for its keys
    never,   ///< it cannot be masked: `why`
  };
  kind what = kind::never;
  std::optional<privacy::secure_letter> letter = {};  ///< of one that waits: to be sent, it enters the exchange of keys
  std::string why = {};
};

/// A trained update that is to be masked.
struct plain_update {
  client_update update;
  broadcast_ptr from;  ///< what it started from
};
using plain_updates = std::map<task_id, plain_update>;

/// Not thread-safe. Throws models::broken_part where the aggregation rule of a program fails while it masks.
class masked_reports {
 public:
  /// @param e must outlive it
  /// @param confirmed see secure_tasks
  /// @param waiting updates of an earlier life of the run
  explicit masked_reports(const experiment& e, privacy::key_identity_ptr identity = {},
                          std::shared_ptr<confirmed_lists> confirmed = {}, plain_updates waiting = {})
      : secrets_(e, std::move(identity), std::move(confirmed)), plain_(std::move(waiting)) {}

  [[nodiscard]] secure_tasks& secrets() { return secrets_; }

  /// Masks an update in place if its keys are there. In an asynchronous run one that waits enters the exchange now.
  /// @param from what the update started from
  [[nodiscard]] masking mask(const broadcast_ptr& from, client_update& update);

  /// A client has trained: its update waits here for report().
  void add(client_update&& update, broadcast_ptr from);
  /// Masks the update of a task, which was added, and takes it out unless it waits. An unknown one is never masked.
  [[nodiscard]] std::pair<masking, client_update> report(const task_id& task);
  [[nodiscard]] bool waits(const task_id& task) const { return plain_.contains(task); }
  /// The task is over.
  void forget(const task_id& task);
  /// Takes out all that wait.
  [[nodiscard]] plain_updates take_waiting() { return std::exchange(plain_, {}); }

 private:
  secure_tasks secrets_;
  plain_updates plain_;
};

}  // namespace furlong::federated::processes
