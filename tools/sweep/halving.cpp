#include "tools/sweep/halving.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace furlong::tools {

namespace {

/// Settings of each rung.
std::vector<std::size_t> sizes_of_rungs(std::size_t settings, std::size_t factor) {
  std::vector<std::size_t> sizes;
  for (auto n = settings; n > 1; n = (n + factor - 1) / factor) sizes.push_back(n);
  return sizes;
}

/// The rounds of a run of rung k alone, of this share of the budget for each rung and seed.
std::uint64_t rounds_in(std::uint64_t share, std::size_t settings) { return share / settings; }

}  // namespace

result<std::vector<rung>> plan_rungs(const halving_request& request) {
  if (request.settings < 2)
    return fail(error::kind::usage, "--grid", "has one setting: there is nothing to choose from",
                "write several values, or --range");
  const auto sizes = sizes_of_rungs(request.settings, request.factor);
  std::uint64_t share = 0;  // of a rung and seed
  if (request.budget) {
    share = *request.budget / (sizes.size() * request.seeds);
    if (rounds_in(share, sizes.front()) == 0)
      return fail(error::kind::usage, "--budget " + std::to_string(*request.budget),
                  "does not give every run a round: " + std::to_string(request.settings) + " settings with " +
                      std::to_string(request.seeds) + " seeds need " +
                      std::to_string(request.settings * request.seeds * sizes.size()) + " for " +
                      std::to_string(sizes.size()) + " rungs",
                  "raise it, or try fewer settings");
  } else {
    double per_round = 0.0;  // rounds of a run of the last rung, of a share of 1
    for (const auto n : sizes) per_round += 1.0 / static_cast<double>(n);
    share = static_cast<std::uint64_t>(std::ceil(static_cast<double>(request.rounds) / per_round));
  }
  std::vector<rung> rungs;
  std::uint64_t rounds = 0;
  for (const auto n : sizes) {
    rounds = std::min(request.rounds, rounds + std::max<std::uint64_t>(1, rounds_in(share, n)));
    rungs.push_back({n, rounds});
  }
  if (!request.budget) rungs.back().rounds = request.rounds;
  return rungs;
}

std::uint64_t rounds_of(std::span<const rung> rungs, std::size_t seeds) {
  std::uint64_t total = 0;
  std::uint64_t before = 0;
  for (const auto& entry : rungs)
    total += entry.settings * seeds * (entry.rounds - std::exchange(before, entry.rounds));
  return total;
}

std::vector<std::size_t> ranked(std::span<const std::optional<double>> figures, bool smaller_is_better) {
  std::vector<std::size_t> order(figures.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto& left = figures[a];
    const auto& right = figures[b];
    if (!left || !right) return left.has_value() && !right;
    return smaller_is_better ? *left < *right : *left > *right;
  });
  return order;
}

}  // namespace furlong::tools
