#include "federated/participation.hpp"

#include <algorithm>
#include <unordered_set>

#include "models/random.hpp"

namespace furlong::federated {

std::vector<std::uint32_t> choose_cohort(std::span<const std::uint32_t> clients, std::uint32_t count,
                                         std::uint64_t seed, std::uint32_t round) {
  const auto n = static_cast<std::uint32_t>(clients.size());
  models::random_stream stream(seed, models::purpose::cohort, round);
  std::unordered_set<std::uint32_t> taken;
  std::vector<std::uint32_t> cohort;
  taken.reserve(count);
  cohort.reserve(count);
  for (std::uint32_t last = n - count; last < n; ++last) {
    const auto draw = stream.below(last + 1);
    const auto pick = taken.insert(draw).second ? draw : last;
    if (pick == last && draw != last) taken.insert(last);
    cohort.push_back(clients[pick]);
  }
  std::ranges::sort(cohort);
  return cohort;
}

}  // namespace furlong::federated
