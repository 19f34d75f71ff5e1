// The arithmetic behind a split of ratings: which users are held out, and where each of a user's ratings goes. One
// place, so that a population kept in memory and one made on demand divide alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scenarios/rating_split.hpp"

namespace furlong::scenarios {

/// Users by what they are for, each list ascending.
struct user_groups {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
  std::vector<bool> held_out;  ///< of each user; empty when nobody is

  [[nodiscard]] bool holds_out(std::uint32_t user) const { return !held_out.empty() && held_out[user]; }
};
[[nodiscard]] user_groups divide_users(std::uint32_t users, const split_settings& settings);

/// A user's ratings, arranged, are train [0, train_end), validation [train_end, validation_end) and
/// test [validation_end, end).
struct part_bounds {
  std::uint32_t train_end = 0;
  std::uint32_t validation_end = 0;
  std::uint32_t end = 0;

  [[nodiscard]] std::uint32_t begin_of(federated::part which) const;
  [[nodiscard]] std::uint32_t end_of(federated::part which) const;
};
/// How many of a user's `ratings` fall into each part: O(1).
[[nodiscard]] part_bounds bounds_of(std::uint32_t ratings, const split_settings& settings, bool held_out);

/// Where a user's ratings go, and the working memory of finding out; kept by a caller who divides many users.
struct rating_division {
  part_bounds bounds;
  std::vector<std::uint32_t> picks;  ///< positions among the user's ratings, part after part, each in its order

  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> ranked;
  std::vector<std::uint8_t> parts;
};
/// Divides `ratings` ratings of a user. `times` has one entry a rating, or is empty when they are in order of time.
void divide_ratings(std::uint32_t user, std::uint32_t ratings, std::span<const std::uint32_t> times,
                    const split_settings& settings, bool held_out, rating_division& out);

/// The label that a rating becomes.
[[nodiscard]] inline float label_of(float rating, const split_settings& settings) {
  if (!settings.binarize) return rating;
  return rating >= static_cast<float>(*settings.binarize) ? 1.0F : 0.0F;
}

}  // namespace furlong::scenarios
