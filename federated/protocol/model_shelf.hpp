// The models that tasks start from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/digest.hpp"
#include "federated/experiment/update.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated::protocol {

/// The newest model of a run, and the earlier ones that tasks still need.
///
/// A version that no task needs any more is dropped by the next publish(), not before: until the round is closed, the
/// limits of the versions that its updates started from are looked up here, and a task that ended in the round can be
/// opened again.
class model_shelf {
 public:
  /// A model that tasks of a resumed run started from.
  void restore(broadcast_ptr model);
  /// The next tasks start from `model`. Drops the versions that no task needs.
  /// @param task_bytes encoded size of a task and `model`
  /// @param held tasks that have ended, and whose models are needed nevertheless
  void publish(broadcast_ptr model, std::uint64_t task_bytes, std::span<const open_task> held);

  /// A task needs the model of this version from now on. A version without a model is kept as one.
  void need(std::uint64_t version) { ++versions_[version].tasks; }
  /// A task does not need it any more, which it did.
  void release(std::uint64_t version);

  /// That of the last publish().
  [[nodiscard]] const broadcast_ptr& newest() const { return newest_; }
  [[nodiscard]] std::uint64_t task_bytes() const { return task_bytes_; }
  /// The model of a version that is kept; null if it has none.
  [[nodiscard]] const broadcast_ptr& model(std::uint64_t version) const { return versions_.at(version).model; }
  /// digest_of() the model of a version, computed once; nothing if the model is not there.
  [[nodiscard]] std::optional<digest> model_digest(std::uint64_t version);

 private:
  struct kept_version {
    broadcast_ptr model;
    std::size_t tasks = 0;  ///< that need it
    std::optional<digest> model_digest = {};
  };

  broadcast_ptr newest_;
  std::uint64_t task_bytes_ = 0;
  std::unordered_map<std::uint64_t, kept_version> versions_;
  std::vector<std::uint64_t> unused_;  ///< versions that may have no task left
};

}  // namespace furlong::federated::protocol
