// Figures of a ranking: one person's held-out items among candidates, by their scores.
//
// Items with the same score have every order with the same probability, and a figure is its expectation over these
// orders. (Taking the first or the last place of tied items, as sorting functions do, favours or punishes models that
// tie.) Krichene and Rendle, "On sampled metrics for item recommendation", KDD 2020, say what figures of sampled
// candidates are worth: the full ones are to be trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace furlong::federated::ranking {

/// The items with one score that at least one held-out item has.
struct tied_items {
  std::uint32_t above = 0;     ///< candidates with less than the score of the level before and more than this one
  std::uint32_t tied = 0;      ///< candidates with this score
  std::uint32_t held_out = 0;  ///< held-out items with it, at least one
};

/// Where the held-out items stand, best first.
/// @param held_out scores of the held-out items, in any order; all finite. They are sorted
/// @param candidates scores of the other items, all finite
void find_levels(std::span<float> held_out, std::span<const float> candidates, std::vector<tied_items>& levels);

/// Figures of the first K places.
struct figures_at {
  double hit = 0.0;        ///< HR: whether a held-out item is among them
  double ndcg = 0.0;       ///< gain 1 / log2(rank + 1) of each held-out item, over the largest possible sum
  double recall = 0.0;     ///< share of the held-out items
  double precision = 0.0;  ///< share of the K places
  double map = 0.0;        ///< average precision: over min(held-out items, K)
};

/// @param levels of find_levels(), at least one
/// @param places K, at least 1
[[nodiscard]] figures_at first_places(std::span<const tied_items> levels, std::uint32_t places);

/// 1 / rank of the best held-out item.
[[nodiscard]] double reciprocal_rank(std::span<const tied_items> levels);

/// How likely an item is among the first K places, if so many others have a higher and so many the same score.
[[nodiscard]] double chance_of_place(std::uint32_t higher, std::uint32_t same, std::uint32_t places);

/// The `count` items with the highest scores, best first, ties by number; fewer if there are not as many.
/// @param scores one per item
/// @param left_out one per item: not 0 for items that are no candidates
void find_best(std::span<const float> scores, std::span<const std::uint8_t> left_out, std::size_t count,
               std::vector<std::uint32_t>& best);

}  // namespace furlong::federated::ranking
