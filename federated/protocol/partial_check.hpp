// What must hold of a partial aggregate before it is merged, whoever merges it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "federated/update.hpp"

namespace furlong::federated::protocol {

/// The error (kind runtime) that names a partial's aggregator.
[[nodiscard]] tl::unexpected<error> unsound_partial(const partial_aggregate& partial, std::string why);

/// Its sums agree with what it says of them, and its members are exactly those that its aggregator `told` of, in any
/// order.
[[nodiscard]] result<void> check_members(const partial_aggregate& partial, std::vector<member> told);

}  // namespace furlong::federated::protocol
