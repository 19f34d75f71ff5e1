// Lai, Zhu, Madhyastha, Chowdhury: Oort: efficient federated learning via guided participant selection, OSDI 2021,
// algorithm 1, by the mean losses that clients report.
//
//   utility of a client that took part: n loss + sqrt(0.1 ln R / its last round), R rounds so far;
//     times (T / t)^alpha where its task takes t > T seconds
//   a share of the cohort is explored, those never asked, quick ones first; the others are drawn by their utility
//     among those of at least 0.95 of the last utility that would be selected
#include <algorithm>
#include <cmath>

#include "federated/participation/draws.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;
using clients = std::span<const std::pair<double, std::uint32_t>>;

class oort final : public selection_policy {
 public:
  explicit oort(const experiment& e) : e_(e), options_(e.settings.participation->policy.options) {}

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger& ledger) override {
    std::vector<std::pair<double, std::uint32_t>> known, fresh;  // by utility; by seconds
    for (const auto client : e_.participants->training()) {
      const double seconds = task_seconds(e_, client).value_or(0.0);
      if (ledger[client].folded > 0)
        known.emplace_back(utility(client, ledger[client], seconds, of.round), client);
      else
        fresh.emplace_back(seconds, client);
    }
    std::ranges::sort(fresh);
    std::ranges::sort(known, std::greater());
    auto draws = selection_stream(e_, of);
    const double share = std::max(0.2, options_.number("exploration") * std::pow(0.98, static_cast<double>(of.round)));
    const auto explored = std::min<std::size_t>(fresh.size(), static_cast<std::size_t>(std::ceil(share * of.count)));
    if (const auto wanted = of.count - std::min<std::size_t>(of.count, explored); wanted < known.size() && wanted > 0) {
      const double least = 0.95 * known[wanted - 1].first;
      const auto end = std::ranges::find_if(known, [&](const auto& one) { return one.first < least; });
      for (auto at = known.begin(); at != end; ++at)  // Efraimidis, Spirakis 2006: draws by weight
        at->first = std::log(static_cast<double>(draws.uniform(1e-6F, 1.0F))) / std::max(at->first, 1e-9);
      std::sort(known.begin(), end, std::greater());
    }
    std::vector<std::uint32_t> chosen;
    const auto rest = take(fresh, explored, of, chosen);
    take(known, of.count, of, chosen);
    take(rest, of.count, of, chosen);
    std::ranges::sort(chosen);
    return chosen;
  }

 private:
  double utility(std::uint32_t client, const client_record& record, double seconds, std::uint64_t round) const {
    double made = e_.participants->count(client, part::train) * static_cast<double>(std::max(record.loss, 0.0F)) +
                  std::sqrt(0.1 * std::log(static_cast<double>(round) + 1.0) / std::max(1U, record.asked_version));
    if (const double longest = options_.number("seconds"); longest > 0 && seconds > longest)
      made *= std::pow(longest / seconds, options_.number("alpha"));
    return made;
  }

  /// Those that were not looked at.
  static clients take(clients from, std::size_t most, selection& of, std::vector<std::uint32_t>& to) {
    for (; !from.empty() && to.size() < std::min<std::size_t>(most, of.count); from = from.subspan(1)) {
      ++of.probed;
      if (of.eligible(from.front().second)) to.push_back(from.front().second);
    }
    return from;
  }

  const experiment& e_;
  const furlong::option_values& options_;
};

}  // namespace

policy_entry oort_entry() {
  return {.kind = "oort",
          .doc = "Prefers clients with large losses and quick devices (Lai et al. 2021).",
          .options = {number("exploration", 0.9, "Share of the first cohort that is explored."),
                      number("seconds", 0.0, "The time of a task beyond which a client is preferred less; 0: none."),
                      number("alpha", 2.0, "How much less: (seconds / its time)^alpha.")},
          .traits = {.needs_examples = true, .sees_losses = true},
          .build = [](const experiment& e, const participation_ledger&) -> std::unique_ptr<selection_policy> {
            return std::make_unique<oort>(e);
          }};
}

}  // namespace parts
