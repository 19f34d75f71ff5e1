// Checks of a partial aggregate before it is merged.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::federated::protocol {

/// The error (kind runtime) that names a partial's aggregator.
[[nodiscard]] tl::unexpected<error> unsound_partial(const partial_aggregate& partial, std::string why);

/// Fails unless the sums agree with the partial's header and its members are exactly those that its aggregator reported
/// (`expected`), in any order. `blind`: the sums are masked, so only the members are checked.
[[nodiscard]] result<void> check_members(const partial_aggregate& partial, std::vector<member> expected,
                                         bool blind = false);

}  // namespace furlong::federated::protocol
