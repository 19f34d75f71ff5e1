// The training of one client for one task.
#pragma once

#include <memory>

#include "federated/client/workspace.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/experiment/update.hpp"
#include "models/packed_private.hpp"

namespace furlong::federated {

/// What whoever trains does with the update.
enum class update_use : std::uint8_t {
  returned,  ///< it is a result of the job
  added,     ///< is added at once to the sum of its version and aggregator
  kept,      ///< is kept until the run orders what becomes of it (add_order)
  dropped,   ///< is not needed, but its report and private values are
};

/// A client's training, to be done by anybody: its result depends on nothing else.
struct training_job {
  task_id id;
  broadcast_ptr from;
  std::uint64_t number = 0;  ///< distinguishes jobs of one task, where its node may start it again
  update_use use = update_use::returned;
  std::uint32_t aggregator = 0;  ///< of the sum; `added` and `kept` only
  /// `own` has the client's values as the task began, or none if it has none. Else they are loaded from the store.
  bool loaded = false;
  /// Nothing can undo the task any more: values that are kept after training are stored at once.
  bool stores = false;
  // Filled by the worker that does it.
  client_update update = {};
  settlement report = {};  ///< what assess_update() says of it; but for `returned`
  bool held = false;       ///< then: it is in the sum, or kept; false: it is refused, or there is nothing to add
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
