// Successive halving: all settings train a little, the better ones go on, and so forth (Jamieson and Talwalkar,
// "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016, algorithm 1, with a factor
// that need not be 2).
//
// L = ceil(log_factor(settings)) rungs; rung k has n_k settings, n_0 all and n_(k+1) = ceil(n_k / factor), down to 2 or
// more; each rung gets the same share of the budget B, so that every run of it trains
// r_k = floor(B / (seeds n_k L)) further rounds.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace furlong::tools {

struct halving_request {
  std::size_t settings = 0;
  std::size_t seeds = 1;
  std::uint64_t rounds = 0;             ///< of a whole run: none trains longer
  std::size_t factor = 3;               ///< above 1
  std::optional<std::uint64_t> budget;  ///< rounds of all runs together; nothing: what lets the last rung end whole
};

struct rung {
  std::size_t settings = 0;
  std::uint64_t rounds = 0;  ///< of each run since its beginning

  friend bool operator==(const rung&, const rung&) = default;
};

/// The rungs; their last runs have at most `rounds`. Fails (kind usage) if there are fewer than two settings, or the
/// budget does not give each run a round in each rung.
[[nodiscard]] result<std::vector<rung>> plan_rungs(const halving_request& request);

/// Rounds of all runs of the rungs; each run continues from its previous rung.
[[nodiscard]] std::uint64_t rounds_of(std::span<const rung> rungs, std::size_t seeds);

/// The indices of figures from the best to the worst; missing ones, of runs without a usable result, are last. Of equal
/// ones the first comes first.
[[nodiscard]] std::vector<std::size_t> ranked(std::span<const std::optional<double>> figures, bool smaller_is_better);

}  // namespace furlong::tools
