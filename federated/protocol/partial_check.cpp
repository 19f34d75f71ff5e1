#include "federated/protocol/partial_check.hpp"

#include <algorithm>

namespace furlong::federated::protocol {

tl::unexpected<error> unsound_partial(const partial_aggregate& partial, std::string why) {
  return fail(error::kind::runtime, "partial aggregate of aggregator " + std::to_string(partial.aggregator),
              std::move(why));
}

result<void> check_members(const partial_aggregate& partial, std::vector<member> expected, bool blind) {
  const auto& words = partial.sums.words;
  const bool agrees = words.size() >= 3 && words[0] >= 0 &&
                      static_cast<std::uint64_t>(words[0]) <= partial.folded.size() &&
                      static_cast<std::uint64_t>(words[1]) == partial.weight && words[2] == partial.loss_fixed;
  if (!blind && !agrees) return unsound_partial(partial, "sums that do not match its members");
  std::ranges::sort(expected);
  if (expected != partial.folded)
    return unsound_partial(partial, "does not contain exactly the updates that its aggregator reported");
  return {};
}

}  // namespace furlong::federated::protocol
