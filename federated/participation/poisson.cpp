// Poisson sampling: every available client takes part in a round with probability `rate`, independently of all others.
// It is the sampling for which the privacy of a round is accounted exactly (Abadi et al. 2016, "Deep learning with
// differential privacy").
//
// The draws of a block of 1,024 client numbers are keyed by (seed, version, block): the gaps between the clients drawn
// are geometric, P(gap = k) = rate (1 - rate)^k, so that a round costs O(numbers / 1024 + drawn). No draw depends on
// the number of clients, on who is available, or on another block: if a client is absent, the others are drawn as
// before. Only where `cap` binds does a client take the place of another one: those with the lowest drawn ranks stay.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/exact_math.hpp"
#include "federated/participation/draws.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

constexpr std::uint64_t block_clients = 1024;
constexpr std::uint32_t part_of_blocks = 1;  // part 0 of purpose::cohort has the draws of other policies

/// Uniform in (0, 1].
double uniform_above_zero(random_stream& stream) {
  const std::uint64_t high = stream();
  return (static_cast<double>(high << 32 | stream()) + 0.5) * 0x1p-64;
}

class poisson_policy final : public selection_policy {
 public:
  explicit poisson_policy(const experiment& e)
      : e_(e), clients_(e.participants->training()), log_of_absence_(exact::log1p(-e.settings.participation->rate)) {}

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger&) override {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> drawn;  // rank and client
    const auto seed = draw_seed(e_, of.round);
    const auto end = clients_.empty() ? 0 : std::uint64_t{clients_.back()} + 1;
    for (std::uint64_t first = 0; first < end; first += block_clients) {
      random_stream stream(seed, purpose::cohort, static_cast<std::uint32_t>(of.round),
                           static_cast<std::uint32_t>(first / block_clients), part_of_blocks);
      for (auto at = first;; ++at) {
        const double gap = std::floor(exact::log(uniform_above_zero(stream)) / log_of_absence_);
        if (gap >= static_cast<double>(first + block_clients - at)) break;
        at += static_cast<std::uint64_t>(gap);
        const auto client = static_cast<std::uint32_t>(at);
        const auto rank = stream();
        if (!std::ranges::binary_search(clients_, client)) continue;
        ++of.probed;
        if (of.eligible(client)) drawn.emplace_back(rank, client);
      }
    }
    if (drawn.size() > of.count) {
      std::ranges::nth_element(drawn, drawn.begin() + of.count);
      drawn.resize(of.count);
    }
    std::vector<std::uint32_t> chosen;
    chosen.reserve(drawn.size());
    for (const auto& [rank, client] : drawn) chosen.push_back(client);
    std::ranges::sort(chosen);
    return chosen;
  }

 private:
  const experiment& e_;
  std::span<const std::uint32_t> clients_;
  double log_of_absence_;  ///< log(1 - rate); -infinity for rate 1: every gap is 0
};

}  // namespace

policy_entry poisson_entry() {
  return {.kind = "poisson",
          .doc =
              "Every available client takes part with probability `participation.rate`, by a draw of its own: the "
              "number of clients varies from round to round.",
          .traits = {.draws_cohort = true},
          .build = [](const experiment& e, const participation_ledger&) -> std::unique_ptr<selection_policy> {
            return std::make_unique<poisson_policy>(e);
          }};
}

}  // namespace furlong::federated
