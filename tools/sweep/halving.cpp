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

result<std::vector<rung>> plan_rungs(const halving_request& of) {
  if (of.settings < 2)
    return fail(error::kind::usage, "--grid", "has one setting: there is nothing to choose from",
                "write several values, or --range");
  const auto sizes = sizes_of_rungs(of.settings, of.factor);
  std::uint64_t share = 0;  // of a rung and seed
  if (of.budget) {
    share = *of.budget / (sizes.size() * of.seeds);
    if (rounds_in(share, sizes.front()) == 0)
      return fail(error::kind::usage, "--budget " + std::to_string(*of.budget),
                  "does not give every run a round: " + std::to_string(of.settings) + " settings with " +
                      std::to_string(of.seeds) + " seeds need " +
                      std::to_string(of.settings * of.seeds * sizes.size()) + " for " + std::to_string(sizes.size()) +
                      " rungs",
                  "raise it, or try fewer settings");
  } else {
    double per_round = 0.0;  // rounds of a run of the last rung, of a share of 1
    for (const auto n : sizes) per_round += 1.0 / static_cast<double>(n);
    share = static_cast<std::uint64_t>(std::ceil(static_cast<double>(of.rounds) / per_round));
  }
  std::vector<rung> rungs;
  std::uint64_t rounds = 0;
  for (const auto n : sizes) {
    rounds = std::min(of.rounds, rounds + std::max<std::uint64_t>(1, rounds_in(share, n)));
    rungs.push_back({n, rounds});
  }
  if (!of.budget) rungs.back().rounds = of.rounds;
  return rungs;
}

std::uint64_t rounds_of(std::span<const rung> rungs, std::size_t seeds) {
  std::uint64_t all = 0;
  std::uint64_t before = 0;
  for (const auto& one : rungs) all += one.settings * seeds * (one.rounds - std::exchange(before, one.rounds));
  return all;
}

std::vector<std::size_t> ranked(std::span<const std::optional<double>> figures, bool smaller_is_better) {
  std::vector<std::size_t> order(figures.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto& one = figures[a];
    const auto& other = figures[b];
    if (!one || !other) return one.has_value() && !other;
    return smaller_is_better ? *one < *other : *one > *other;
  });
  return order;
}

}  // namespace furlong::tools
