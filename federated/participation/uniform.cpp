#include "federated/participation/uniform.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "federated/participation/draws.hpp"

namespace furlong::federated {

namespace {

/// Draws a set of the wanted size as if all clients were eligible, and then one client at a time in place of each
/// ineligible one: the first eligible ones of a random order.
class uniform_policy final : public selection_policy {
 public:
  explicit uniform_policy(const experiment& e)
      : e_(e), clients_(e.participants->training()), probed_(clients_.size()) {}

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger&) override {
    auto stream = selection_stream(e_, of);
    const auto n = static_cast<std::uint32_t>(clients_.size());
    const auto count = std::min(of.count, n);
    std::vector<std::uint32_t> chosen;
    chosen.reserve(count);
    const auto probe = [&](std::uint32_t position) {
      if (of.eligible(clients_[position])) chosen.push_back(clients_[position]);
    };
    probed_.clear();
    draw_positions(
        stream, n, count, [&](std::uint32_t position) { return probed_.take(position); }, probe);
    // While less than half was looked at, two draws find another one on average.
    while (chosen.size() < count && 2 * probed_.taken() < n)
      if (const auto position = stream.below(n); probed_.take(position)) probe(position);
    of.probed = probed_.taken();
    if (chosen.size() < count) of.probed += look_at_rest(stream, count, chosen, probe);
    std::ranges::sort(chosen);
    return chosen;
  }

 private:
  /// Goes through those not looked at, in a drawn order, until enough are chosen. Returns how many it looked at.
  template <class Look>
  std::size_t look_at_rest(random_stream& stream, std::uint32_t count, const std::vector<std::uint32_t>& chosen,
                           const Look& probe) const {
    std::vector<std::uint32_t> rest;
    rest.reserve(clients_.size() - probed_.taken());
    for (std::uint32_t position = 0; position < clients_.size(); ++position)
      if (!probed_.has(position)) rest.push_back(position);
    std::size_t left = rest.size();
    while (chosen.size() < count && left > 0) {
      std::swap(rest[stream.below(static_cast<std::uint32_t>(left))], rest[left - 1]);
      probe(rest[--left]);
    }
    return rest.size() - left;
  }

  const experiment& e_;
  std::span<const std::uint32_t> clients_;
  position_marks probed_;  ///< in this selection
};

}  // namespace

std::vector<std::uint32_t> draw_uniformly(std::span<const std::uint32_t> clients, std::uint32_t count,
                                          random_stream stream) {
  const auto n = static_cast<std::uint32_t>(clients.size());
  count = std::min(count, n);
  std::unordered_set<std::uint32_t> taken;
  taken.reserve(count);
  std::vector<std::uint32_t> drawn;
  drawn.reserve(count);
  draw_positions(
      stream, n, count, [&](std::uint32_t position) { return taken.insert(position).second; },
      [&](std::uint32_t position) { drawn.push_back(position); });
  std::ranges::sort(drawn);
  for (auto& position : drawn) position = clients[position];
  return drawn;
}

std::vector<std::uint32_t> uniform_cohort(std::span<const std::uint32_t> clients, std::uint32_t count,
                                          std::uint64_t seed, std::uint64_t round) {
  return draw_uniformly(clients, count, {seed, purpose::cohort, static_cast<std::uint32_t>(round)});
}

policy_entry uniform_entry() {
  return {.kind = "uniform",
          .doc = "Every eligible client with equal probability, without replacement.",
          .traits = {.draws_alike = true},
          .build = [](const experiment& e, const participation_ledger&) -> std::unique_ptr<selection_policy> {
            return std::make_unique<uniform_policy>(e);
          }};
}

}  // namespace furlong::federated
