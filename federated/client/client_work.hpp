// What a client does with a task: gathers the rows of the model that its examples name, trains as the algorithm says,
// and makes the update. Pure: data and parameters in, an update out.
#pragma once

#include "federated/client/workspace.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::federated {

/// Whether training must run although the update is discarded: the private values that a client keeps depend on it.
[[nodiscard]] bool trains_if_discarded(const run_settings& settings);
/// Whether private values that wait for an acknowledgement survive the client's process, as pending values of its
/// store.
[[nodiscard]] bool stages_values(const run_settings& settings);

/// Trains as the settings say, starting from the broadcast.
/// In: `use.own`, for algorithms that keep state the client's stored values if `has_own`; else ignored.
/// Out: `use.own`, the private values as trained; `out`, the update. A client without examples reports an update of
/// weight 0 and of no change. So does one whose weights ceased to be finite or to fit network.compression, with a loss
/// that is no number, which is refused as not-finite. The private values of both are as they were, and so are those of
/// a client whose update is beyond the bounds of the scenario or the limits of the version. Returns whether `use.own`
/// is to be stored.
bool client_work(const experiment& e, const broadcast& model, const task_id& id, bool has_own, workspace& use,
                 client_update& out);

}  // namespace furlong::federated
