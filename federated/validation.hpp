// The server never trusts an update: what is checked before one is folded.
#pragma once

#include <optional>

#include "federated/settings.hpp"
#include "federated/update.hpp"

namespace furlong::federated {

/// No client processes more examples for one update. Keeps sums of what clients claim from wrapping around.
constexpr std::uint64_t most_examples = 1ULL << 40U;

/// Checks shapes, row numbers, finiteness and bounds of an update against the shared layout. Identity and version are
/// the aggregator's to check. Nothing: the update may be folded. Thread-safe; O(values).
[[nodiscard]] std::optional<rejection> validate(const client_update& update, const models::layout& shared,
                                                const aggregation_settings& bounds);

}  // namespace furlong::federated
