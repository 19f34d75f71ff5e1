// The store of clients' private parameters between rounds.
//
// Order of a checkpoint at server version V; everything that a checkpoint covers can be read back:
//   1. commit() every private value of versions below V                    (atomic per client, not yet durable)
//   2. save(V)                                                             (all durable, identified by an id)
//   3. the checkpoint of V, which names that id, is made durable elsewhere
//   4. covered(V)                                                          (older values may now be dropped)
// With exact_state and commit = "after-ack" (algorithm_traits.hpp) a value may be *pending* before 1: stage() keeps it
// durably, beside the client's other values, until the server's verdict is final. Then it is committed, or not, and
// discarded.
//
// Per client, a store keeps the newest value that the last durable checkpoint covers, and any newer one. After a crash
// it is opened with the checkpoint's history; load() then returns what an uninterrupted run would have.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "federated/experiment/run_history.hpp"
#include "federated/experiment/update.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// One save of one store. All zero: a store without persistence.
struct store_save {
  std::uint64_t store = 0;    ///< the store's id
  std::uint64_t id = 0;       ///< of the save
  std::uint64_t version = 0;  ///< server version at which it was made
  friend bool operator==(const store_save&, const store_save&) = default;
};

/// Thread-safe for distinct clients. Calls for one client must not overlap, unless all are load(): an evaluation may
/// score a client in several groups at a time. sync(), save(), covered() and visit() must not overlap with commit().
class private_store {
 public:
  virtual ~private_store() = default;

  /// Reads a client's value into `out` (which has the private layout). False if the client has none. Fails if the
  /// stored value is damaged or has another layout: the error names the client; never returns wrong values.
  [[nodiscard]] virtual result<bool> load(std::uint32_t client, models::private_parameters& out) = 0;
  /// Stores a value. `version` is the server's version at this moment: checkpoints of higher versions cover it.
  /// All or nothing; durable after the next sync().
  [[nodiscard]] virtual result<void> commit(std::uint32_t client, std::uint64_t version,
                                            const models::private_parameters& value) = 0;
  /// Returns when all earlier commits survive a crash of the machine.
  [[nodiscard]] virtual result<void> sync() = 0;
  /// Calls sync() and records the content at `version`: opening the store later gives this content or an error.
  [[nodiscard]] virtual result<store_save> save(std::uint64_t /*version*/) {
    return sync().map([] { return store_save{}; });
  }
  /// A checkpoint of `version` is durable.
  virtual void covered(std::uint64_t version) = 0;
  /// Erases all stored bytes of a client. False if it had none. Survives a crash.
  [[nodiscard]] virtual result<bool> erase(std::uint32_t client) = 0;
  /// Calls `each` for every client with a value, ascending, with the version of its commit.
  [[nodiscard]] virtual result<void> visit(
      const std::function<void(std::uint32_t client, std::uint64_t version, const models::private_parameters& value)>&
          each) = 0;

  /// Stores the value of a task as pending, beside the client's newest pending one of a version that the last durable
  /// checkpoint covers, and in place of any other: a client begins a task only when the one before is settled, so at
  /// most one is open in that checkpoint. load() never returns it. All or nothing; durable after the next sync().
  /// Default: fails, the store keeps no pending values.
  [[nodiscard]] virtual result<void> stage(const task_id& task, const models::private_parameters& value);
  /// Discards the pending value of `task` if there is one.
  [[nodiscard]] virtual result<void> discard(const task_id& /*task*/) { return {}; }
  /// Calls `each` for every pending value, ascending by client. As for load(), tasks that are not part of the history
  /// do not count.
  [[nodiscard]] virtual result<void> visit_pending(
      const std::function<void(const task_id& task, const models::private_parameters& value)>& /*each*/) {
    return {};
  }
};

inline result<void> private_store::stage(const task_id& task, const models::private_parameters& /*value*/) {
  return fail(error::kind::runtime, "client " + std::to_string(task.client), "the store keeps no pending values");
}

}  // namespace furlong::federated
