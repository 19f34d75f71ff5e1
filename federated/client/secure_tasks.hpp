// The secrets of the clients of one process for their tasks, under secure aggregation. In memory only: a process that
// is started again cannot go on with the tasks of the one before.
#pragma once

#include <map>

#include "federated/client/secure_update.hpp"

namespace furlong::federated {

/// The sums that clients of this process have opened. Outlives a life of the server.
struct opened_sums {
  std::map<std::uint64_t, digest> survivors;  ///< by version
};

/// Not thread-safe.
class secure_tasks {
 public:
  /// `e` must outlive it.
  explicit secure_tasks(const experiment& e, privacy::key_identity_ptr identity = {},
                        std::shared_ptr<opened_sums> opened = std::make_shared<opened_sums>());

  /// The letter with which a client enters the exchange of keys, or its newest one, to be sent again: when its task was
  /// assigned, or, if enters_trained(), when its update is there.
  [[nodiscard]] const privacy::secure_letter& enter(const task_id& task);
  /// Asynchronous runs: the clients of a sum are those whose updates fill the buffer.
  [[nodiscard]] bool enters_trained() const;
  struct answer {
    std::optional<privacy::secure_letter> letter = {};  ///< to send
    bool ready = false;                                 ///< the task's update can be masked from now on
    bool over = false;                                  ///< the task can never be masked
  };
  /// A letter of the server; those of unknown tasks are ignored. The sum of one version is opened for one set of
  /// clients: a server that makes a round again, after it was started again, does not get the difference.
  [[nodiscard]] answer on_letter(const privacy::secure_letter& letter);
  [[nodiscard]] bool can_mask(const task_id& task) const;
  /// mask_update(), and client_failed for an unknown task.
  [[nodiscard]] std::optional<rejection> mask(const broadcast& from, client_update& update);

  void forget(const task_id& task) { clients_.erase(task); }
  void forget_client(std::uint32_t client);
  /// The exchange of a version is over.
  void end_exchange();
  void clear() { clients_.clear(); }
  [[nodiscard]] std::size_t size() const { return clients_.size(); }

 private:
  const experiment& e_;
  privacy::key_identity_ptr identity_;
  std::map<task_id, privacy::secure_client> clients_;
  std::shared_ptr<opened_sums> opened_;
};

}  // namespace furlong::federated
