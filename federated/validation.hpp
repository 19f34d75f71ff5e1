// The server never trusts an update: what is checked before one is folded.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "federated/client/client_score.hpp"
#include "federated/experiment.hpp"
#include "federated/update.hpp"
#include "models/model.hpp"

namespace furlong::federated {

/// No client processes more examples for one update. Keeps sums of what clients claim from wrapping around.
constexpr std::uint64_t most_examples = 1ULL << 40U;

/// Largest L2 norm of a whole update that a client makes: privacy.clip, and what rounding adds to it. Without a bound,
/// or where clients add noise to what they clipped: infinity.
[[nodiscard]] double longest_update(const run_settings& settings);

/// What bounds one update, beside the scenario's settings.
struct update_bounds {
  double longest = std::numeric_limits<double>::infinity();  ///< L2 norm of all tensors together (longest_update)
  std::uint64_t most_weight = UINT64_MAX;                    ///< by the number of the client's examples
  update_limits limits = {};                                 ///< of the version that it started from
  std::span<const placed_group> groups = {};                 ///< tensors that the algorithm adds: their own bounds
};
/// What bounds updates of a run.
/// @param longest longest_update() of its settings
/// @param examples of the client, where they are known
[[nodiscard]] update_bounds bounds_of(const experiment& e, double longest, const update_limits& limits,
                                      std::optional<std::uint64_t> examples);

/// Checks shapes, row numbers, finiteness and bounds of an update against the layout of updates. Identity and version
/// are the aggregator's to check. Nothing: the update may be aggregated. Thread-safe; O(values).
/// @param size where it is asked for: the update's size, when nothing but the adaptive limits refuses it; else as
/// before
[[nodiscard]] std::optional<rejection> validate(const client_update& update, const models::layout& up,
                                                const aggregation_settings& settings, const update_bounds& bounds = {},
                                                update_size* size = nullptr);

/// What a client's score cannot be, for models of this objective: beyond what so many predictions can err, of more
/// examples than any client has, or with other odds than one for each prediction of two classes. Nothing: it can be so.
/// Sums that are not finite can be: those of a model that diverged.
[[nodiscard]] std::optional<std::string> implausible(const client_score& score, models::objective of);
/// The same whatever the model.
[[nodiscard]] std::optional<std::string> implausible(const client_score& score);

}  // namespace furlong::federated
