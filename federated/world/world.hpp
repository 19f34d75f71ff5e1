// The simulated world: devices, their availability and failures. Computed, never measured.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "federated/experiment/client_set.hpp"
#include "federated/experiment/update.hpp"
#include "federated/state/server_state.hpp"
#include "federated/world/availability.hpp"
#include "federated/world/devices.hpp"

namespace furlong::federated {

struct experiment;
struct run_settings;

/// Immutable once built; shared by all threads of a run.
struct world {
  device_park devices;
  std::unique_ptr<const availability> presence;
  client_set attackers = client_set();  ///< [attack]: the bad clients
};

/// Builds the world of the settings. `trace` and `recorded` are the trace and the table that they name, or null.
[[nodiscard]] std::shared_ptr<const world> make_world(const run_settings& settings, const population& clients,
                                                      std::shared_ptr<const availability_trace> trace,
                                                      std::shared_ptr<const device_table> recorded = nullptr);

/// The fate of a task as far as it is known: drawn when it is assigned, and again when a partition begins or ends.
struct fate {
  virtual_time trained_at = never;       ///< training ends; never when the client drops out before
  virtual_time ends_at = never;          ///< the report reaches the server, or the client drops out
  std::optional<drop_stage> dropped;     ///< the stage in which it drops out; nothing: it reports
  drop_cause cause = drop_cause::drawn;  ///< dropped only
};

/// Keyed by (seed, version, client, attempt): download, training and upload one after the other at the speed of the
/// client's device, with the interruptions of [dropout] and of the client's availability. Its upload rests while it is
/// `offline`; a last disconnection without an end means until draw_fate() is called again with one. The algorithm
/// says how much work training is (algorithm::plan). Without a world (the real clock) a task takes no time and is never
/// interrupted.
[[nodiscard]] fate draw_fate(const experiment& e, const task_id& task, virtual_time start,
                             std::span<const disconnection> offline = {});

}  // namespace furlong::federated
