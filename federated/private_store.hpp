// Where clients keep their private parameters from round to round.
//
// Order of a checkpoint at server version V (idea: what a checkpoint covers can always be read back):
//   1. commit() every private value kept at versions below V               (atomic per client, maybe not yet durable)
//   2. save(V)                                                             (all of them durable, and known by an id)
//   3. the checkpoint of V, which names that id, is made durable elsewhere
//   4. covered(V)                                                          (older values may now be dropped)
// A store keeps, per client, the newest value that the last durable checkpoint covers, and the newer one if there is
// one. After a crash it is opened with the checkpoint's history, and load() returns what an uninterrupted run would
// have had.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "federated/run_history.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// One save of one store. All zero: of a store that keeps nothing beyond the process.
struct store_save {
  std::uint64_t store = 0;    ///< the store's id
  std::uint64_t id = 0;       ///< of the save
  std::uint64_t version = 0;  ///< server version at which it was made
  friend bool operator==(const store_save&, const store_save&) = default;
};

/// Thread-safe: any calls for distinct clients may run at once; calls for one client must follow one another;
/// sync(), save(), covered() and visit() run while no commit() does.
class private_store {
 public:
  virtual ~private_store() = default;

  /// Reads a client's value into `out` (which has the private layout). False when the client has none.
  /// Fails when what is stored is damaged or of another layout: it names the client, and never returns other values.
  [[nodiscard]] virtual result<bool> load(std::uint32_t client, models::private_parameters& out) = 0;
  /// Stores a value. `version` is the server's version at this moment: checkpoints of higher versions cover it.
  /// All or nothing; durable after the next sync().
  [[nodiscard]] virtual result<void> commit(std::uint32_t client, std::uint64_t version,
                                            const models::private_parameters& value) = 0;
  /// Returns when all earlier commits survive a crash of the machine.
  [[nodiscard]] virtual result<void> sync() = 0;
  /// sync(), and puts on record what the store has at `version`: whoever opens it later has that much or an error.
  [[nodiscard]] virtual result<store_save> save(std::uint64_t /*version*/) {
    return sync().map([] { return store_save{}; });
  }
  /// Says that a checkpoint of `version` is durable.
  virtual void covered(std::uint64_t version) = 0;
  /// Forgets a client: no byte of its values is left anywhere. False when it had none. Survives a crash.
  [[nodiscard]] virtual result<bool> erase(std::uint32_t client) = 0;
  /// Calls `each` with every client that has a value, ascending, and the version that it was committed at.
  [[nodiscard]] virtual result<void> visit(
      const std::function<void(std::uint32_t client, std::uint64_t version, const models::private_parameters& value)>&
          each) = 0;
};

}  // namespace furlong::federated
