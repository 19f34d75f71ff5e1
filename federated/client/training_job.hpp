// The training of one client for one task.
#pragma once

#include <memory>

#include "federated/client/workspace.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/experiment/update.hpp"
#include "models/packed_private.hpp"

namespace furlong::federated {

/// A client's training, to be done by anybody: its result depends on nothing else.
struct training_job {
  task_id id;
  broadcast_ptr from;
  std::uint64_t number = 0;  ///< distinguishes jobs of one task, where its node may start it again
  /// `own` has the client's values as the task began, or none if it has none. Else they are loaded from the store.
  bool loaded = false;
  /// Nothing can undo the task any more: values that are kept after training are stored at once.
  bool stores = false;
  // Filled by the worker that does it.
  client_update update = {};
  models::packed_private own = {};  ///< private values as trained, if they are to be kept and not stored
  bool keeps = false;               ///< training changed the private values
  bool stored = false;              ///< they are in the store
  std::shared_ptr<const error> failure = nullptr;
  bool store_failed = false;  ///< the failure is of the whole store or model, not of this client alone
  bool part_failed = false;   ///< of these: of an algorithm or a model that a program registered
};

/// Does a job: loads the client's private values and trains. Thread-safe for jobs of distinct clients; `use` is the
/// caller's own.
void perform(const experiment& e, private_store& store, training_job& job, workspace& use);

}  // namespace furlong::federated
