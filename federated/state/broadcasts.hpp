// The models of a run as clients receive them.
#pragma once

#include "federated/experiment/experiment.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// A model as clients receive it: with the broadcast tensors of the algorithm, and quantized as network.compression
/// says.
[[nodiscard]] models::shared_parameters sent_model(const experiment& e, const model_version& of);
/// The model of the state's version as clients receive it.
[[nodiscard]] broadcast make_broadcast(const experiment& e, const server_state& state);
/// The same of an earlier version.
[[nodiscard]] broadcast make_broadcast(const experiment& e, const server_state& state, const model_version& of);

/// Encoded size of a task and a broadcast, for accounting.
[[nodiscard]] std::uint64_t sent_bytes(const experiment& e, const broadcast& from);

/// The norm bound of the settings, as it applies: one participant with the data of all has nobody to be compared with.
[[nodiscard]] norm_bound_kind norm_bound_of(const run_settings& settings);

}  // namespace furlong::federated
