#include "federated/participation/weighted_draw.hpp"

#include <algorithm>
#include <bit>

namespace furlong::federated {

namespace {

/// Uniform below `bound` > 0.
std::uint64_t below(random_stream& stream, std::uint64_t bound) {
  if (bound <= UINT32_MAX) return stream.below(static_cast<std::uint32_t>(bound));
  const std::uint64_t mask = UINT64_MAX >> std::countl_zero(bound - 1);
  std::uint64_t draw = 0;
  do {
    const std::uint64_t high = stream();
    draw = (high << 32 | stream()) & mask;
  } while (draw >= bound);
  return draw;
}

}  // namespace

void weighted_draw::count_examples() {
  const auto clients = from_.training();
  sums_.reserve(clients.size());
  std::uint64_t sum = 0;
  for (const auto client : clients) sums_.push_back(sum += from_.count(client, part::train));
}

void weighted_draw::list_rest() {
  rest_.clear();
  rest_sums_.clear();
  std::uint64_t sum = 0;
  for (std::uint32_t position = 0; position < sums_.size(); ++position) {
    if (probed_.has(position) || weight(position) == 0) continue;
    rest_.push_back(position);
    rest_sums_.push_back(sum += weight(position));
  }
}

std::vector<std::uint32_t> weighted_draw::first_eligible(selection& of, std::uint32_t count, random_stream stream) {
  const auto clients = from_.training();
  if (sums_.empty()) count_examples();
  probed_.clear();
  std::vector<std::uint32_t> found;
  std::span<const std::uint64_t> sums = sums_;
  std::uint64_t open = sums_.empty() ? 0 : sums_.back();  // examples of those not looked at
  std::size_t rejected = 0;
  while (found.size() < count && open > 0) {
    const auto at = std::ranges::upper_bound(sums, below(stream, sums.back())) - sums.begin();
    const auto position =
        sums.data() == sums_.data() ? static_cast<std::uint32_t>(at) : rest_[static_cast<std::size_t>(at)];
    if (!probed_.take(position)) {
      // Listing the rest costs about as much as this many failed draws.
      if (++rejected <= sums.size() / 16) continue;
      list_rest();
      sums = rest_sums_;
      rejected = 0;
      continue;
    }
    open -= weight(position);
    if (of.eligible(clients[position])) found.push_back(clients[position]);
  }
  of.probed = probed_.taken();
  return found;
}

}  // namespace furlong::federated
