#include "federated/evaluation/fairness.hpp"

#include <algorithm>

namespace furlong::federated {

participation_summary summarize_participation(const participation_ledger& ledger,
                                              std::span<const std::uint32_t> clients) {
  participation_summary all;
  if (clients.empty()) return all;
  std::vector<std::uint32_t> folded;
  folded.reserve(clients.size());
  for (const auto client : clients) {
    folded.push_back(ledger[client].folded);
    all.never_selected += ledger[client].selected == 0 ? 1 : 0;
  }
  std::ranges::sort(folded);
  const auto n = static_cast<std::int64_t>(folded.size());
  all.clients = folded.size();
  all.never_folded = static_cast<std::uint64_t>(std::ranges::upper_bound(folded, 0U) - folded.begin());
  // With x_1 <= ... <= x_n: sum over i < j of (x_j - x_i) = sum of (2 i - n - 1) x_i.
  std::int64_t sum = 0;
  std::int64_t differences = 0;
  for (std::int64_t i = 1; i <= n; ++i) {
    const std::int64_t count = folded[static_cast<std::size_t>(i - 1)];
    sum += count;
    differences += (2 * i - n - 1) * count;
  }
  all.mean = static_cast<double>(sum) / static_cast<double>(n);
  if (sum > 0) all.gini = static_cast<double>(differences) / (static_cast<double>(n) * static_cast<double>(sum));
  const auto quantile = [&](std::size_t tenths) { return folded[(tenths * folded.size() + 9) / 10 - 1]; };
  all.p10 = quantile(1);
  all.p50 = quantile(5);
  all.p90 = quantile(9);
  all.max = folded.back();
  return all;
}

std::vector<activity_quintile> acceptance_by_activity(const participation_ledger& ledger, const population& everybody,
                                                      std::span<const std::uint32_t> clients) {
  constexpr std::size_t parts = 5;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_count;  // examples, client
  for (const auto client : clients) by_count.emplace_back(everybody.count(client, part::train), client);
  std::ranges::sort(by_count);
  if (by_count.size() < parts || by_count.back().first == 0) return {};
  std::vector<activity_quintile> quintiles(parts);
  for (std::size_t i = 0; i < by_count.size(); ++i) {
    const auto [count, client] = by_count[i];
    auto& quintile = quintiles[i * parts / by_count.size()];
    if (quintile.clients++ == 0) quintile.least = count;
    quintile.most = count;
    quintile.selected += ledger[client].selected;
    quintile.folded += ledger[client].folded;
  }
  return quintiles;
}

}  // namespace furlong::federated
