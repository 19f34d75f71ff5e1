// Validation of updates and scores: the server trusts no client.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "federated/experiment/client_score.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/update.hpp"
#include "models/model.hpp"

namespace furlong::federated {

/// Limit of examples per update. Sums of declared values then cannot wrap around.
constexpr std::uint64_t most_examples = 1ULL << 40U;

/// Largest L2 norm of a whole update: longest_clipped() of privacy.clip. Infinity without a bound, or if clients add
/// noise after clipping.
[[nodiscard]] double longest_update(const run_settings& settings);

/// Largest L2 norm of an update that a client clipped to a bound: with rounding errors.
[[nodiscard]] double longest_clipped(double bound);

/// Bounds of one update in addition to the scenario's settings.
struct update_bounds {
  double longest = std::numeric_limits<double>::infinity();  ///< L2 norm of all tensors together (longest_update)
  std::uint64_t most_weight = UINT64_MAX;                    ///< from the client's number of examples
  update_limits limits = {};                                 ///< of its start version
  std::span<const placed_group> groups = {};                 ///< added tensors, with their own bounds
};
/// Bounds of updates of a run.
/// @param longest longest_update() of its settings
/// @param examples of the client, if known
[[nodiscard]] update_bounds bounds_of(const experiment& e, double longest, const update_limits& limits,
                                      std::optional<std::uint64_t> examples);

/// True if updates are weighted by their examples, so that aggregation.max_weight bounds these.
[[nodiscard]] bool weighs_examples(const aggregation_settings& settings, std::span<const placed_group> groups);

/// Checks shapes, row numbers, finiteness and bounds of an update against the layout of updates. The aggregator checks
/// identity and version. Nothing: valid. Thread-safe; O(values).
/// @param size if not null: set to the update's size if only the adaptive limits can refuse it; else unchanged
[[nodiscard]] std::optional<rejection> validate(const client_update& update, const models::layout& up,
                                                const aggregation_settings& settings, const update_bounds& bounds = {},
                                                update_size* size = nullptr);

/// A client's own part of norm_bound = "clip": scales the rows of an update, then all of it, to the limits of its start
/// version, so that validate() accepts its sizes. Without limits, nothing. O(values).
/// @param rounded the update will be rounded to fewer bits: scaled to a level less (size_history::limits)
void clip_to(const update_limits& limits, bool rounded, models::delta& change);

/// What a client's score cannot be, for this model: beyond what so many predictions can err, of more examples than any
/// client has, with other metrics, or with other odds than one for each prediction of two classes. Nothing: it can be
/// so. Sums that are not finite can be: those of a model that diverged.
[[nodiscard]] std::optional<std::string> implausible(const client_score& score, const models::model& of);
/// The same whatever the model.
[[nodiscard]] std::optional<std::string> implausible(const client_score& score);

}  // namespace furlong::federated
