// The secrets of the clients of one process for their tasks, under secure aggregation. In memory only: a process that
// is started again cannot go on with the tasks of the one before.
#pragma once

#include <map>

#include "federated/client/confirmed_lists.hpp"
#include "federated/client/secure_update.hpp"

namespace furlong::federated {

/// Not thread-safe.
class secure_tasks {
 public:
  /// `e` must outlive it.
  /// @param confirmed the lists that clients of this process have confirmed; null in simulations, whose server is ours
  explicit secure_tasks(const experiment& e, privacy::key_identity_ptr identity = {},
                        std::shared_ptr<confirmed_lists> confirmed = {});

  /// The letter with which a client enters the exchange of keys, or its newest one, to be sent again: when its task was
  /// assigned, or, if enters_trained(), when its update is there. `from`: what the task starts from.
  [[nodiscard]] const privacy::secure_letter& enter(const task_id& task, const broadcast_ptr& from);
  /// Asynchronous runs: the clients of a sum are those whose updates fill the buffer.
  [[nodiscard]] bool enters_trained() const;
  struct answer {
    std::optional<privacy::secure_letter> letter = {};  ///< to send
    bool ready = false;                                 ///< the task's update can be masked from now on
    bool over = false;                                  ///< the task can never be masked
    std::string refused = {};                           ///< why the client refuses this letter
  };
  /// A letter of the server; those of unknown tasks are ignored. A client helps to open one sum with its task of a
  /// version, whatever the server says of attempts, starts and versions: before answers are sent, confirmed_lists::
  /// take_new() must be durable.
  [[nodiscard]] answer on_letter(const privacy::secure_letter& letter);
  [[nodiscard]] bool can_mask(const task_id& task) const;
  /// mask_update(), and client_failed for an unknown task, or if the update was made `from` another model than the one
  /// that the task's keys name.
  [[nodiscard]] std::optional<rejection> mask(const broadcast_ptr& from, client_update& update);

  void forget(const task_id& task) { clients_.erase(task); }
  void forget_client(std::uint32_t client);
  /// The exchange of a version is over.
  void end_exchange();
  void clear() { clients_.clear(); }
  [[nodiscard]] std::size_t size() const { return clients_.size(); }

 private:
  /// What identifies the sum that a client helps to open by this list, for one version of its task.
  [[nodiscard]] digest sum_of(const privacy::secure_client& client, const privacy::secure_letter& list) const;
  /// digest_of(*from), made once for a broadcast.
  [[nodiscard]] const digest& model_of(const broadcast_ptr& from);
  struct known_model {
    std::weak_ptr<const broadcast> from;
    digest model{};
  };

  const experiment& e_;
  privacy::key_identity_ptr identity_;
  std::map<task_id, privacy::secure_client> clients_;
  std::map<std::uint64_t, known_model> models_;  ///< by version
  std::shared_ptr<confirmed_lists> confirmed_;
};

}  // namespace furlong::federated
