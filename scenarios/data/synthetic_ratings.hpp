// Generated ratings with known parameters: low rank, user taste, and noise of a given size.
//
//   rating(u, i) = mean + taste_u + quality_i + <p_u, q_i> + noise e
//   taste_u ~ N(0, taste^2), quality_i ~ N(0, quality^2), p_u ~ N(0, I), q_i ~ N(0, signal^2 / rank I), e ~ N(0, 1)
//
// so <p, q> has standard deviation `signal`, and no predictor has a root mean squared error below `noise` (rounding
// adds to it). The number of items of a user is lognormal; items follow a power law of popularity, as in MovieLens.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scenarios/data/dataset.hpp"
#include "scenarios/data/rating_split.hpp"
#include "scenarios/data/rating_table.hpp"

namespace furlong::scenarios {

enum class star_rounding : std::uint8_t { none, half, whole };

struct synthetic_settings {
  std::uint64_t seed = 1;
  std::uint32_t users = 600;
  std::uint32_t items = 400;
  std::uint32_t rank = 4;
  double ratings_per_user = 60.0;  ///< mean of the lognormal
  double spread = 0.7;             ///< standard deviation of its logarithm
  std::uint32_t min_ratings = 10;
  double popularity = 0.8;  ///< the k-th most popular item is drawn in proportion to k^-popularity
  double mean = 3.5;
  double signal = 0.7;
  double taste = 0.4;
  double quality = 0.4;
  double noise = 0.6;
  star_rounding rounding = star_rounding::none;  ///< rounding also clips to 1..5
};

/// One user's draws, with buffers; reused by a caller who draws many users.
struct synthetic_draw {
  double taste = 0.0;
  std::vector<double> factors;
  std::vector<std::uint32_t> items;  ///< in the order in which they were rated
  std::vector<float> noise;          ///< per rating, standard normal

  std::vector<std::uint64_t> taken;                        ///< a bit per item; all zero between draws
  std::vector<std::pair<double, std::uint32_t>> arrivals;  ///< of draw_items(), for long lists
};

/// The parameters of the generator. Every draw is keyed by (seed, item) or (seed, user): one user's ratings are
/// generated without the others', in O(ratings), and in any order. Immutable and thread-safe.
class synthetic_truth {
 public:
  explicit synthetic_truth(const synthetic_settings& settings);

  /// Draws all ratings of a user.
  void draw(std::uint32_t user, synthetic_draw& out) const;
  /// The rating of the `position`-th item of a draw.
  [[nodiscard]] float rating(const synthetic_draw& draw, std::size_t position) const;
  /// Appends one user's ratings, in the order in which they were given.
  void ratings_of(std::uint32_t user, std::vector<std::uint32_t>& items, std::vector<float>& labels) const;
  /// The number of a user's ratings, without drawing them.
  [[nodiscard]] std::uint32_t count_of(std::uint32_t user) const;
  /// A user's offset in units of its standard deviation: a standard normal score.
  [[nodiscard]] float taste_of(std::uint32_t user) const;
  /// The rating without noise and rounding.
  [[nodiscard]] double expected(std::uint32_t user, std::uint32_t item) const;

 private:
  void draw_person(std::uint32_t user, synthetic_draw& out) const;
  [[nodiscard]] double expected(const synthetic_draw& draw, std::uint32_t item) const;
  [[nodiscard]] std::uint32_t draw_count(random_stream& stream) const;
  [[nodiscard]] std::uint32_t draw_item(random_stream& stream) const;
  void draw_items(random_stream& stream, std::uint32_t count, synthetic_draw& out) const;
  [[nodiscard]] float stars(double rating) const;

  synthetic_settings settings_;
  double log_mean_ = 0.0;               // of the lognormal number of ratings: mean of the logarithm
  std::vector<double> quality_;         // of each item
  std::vector<double> factors_;         // items x rank
  std::vector<double> popularity_;      // weight of each item
  std::vector<double> up_to_;           // cumulative popularity by rank
  std::vector<std::uint32_t> by_rank_;  // item by rank
  std::vector<std::uint32_t> guide_;    // first rank that each slice of the unit interval can select
};

// Ratings that are not stored: each client's are generated on demand. In memory: the item parameters, four bytes per
// client for the lists of training and held-out clients, and, if clients are held out, a bit per client. A million
// clients take 4 MB.

/// The population that split_ratings() makes of all generated ratings, with identical values. load() fills `scratch` in
/// O(ratings of the client), count() and taste() are O(1). Thread-safe: each thread has its own buffers, of the size of
/// its longest list of ratings and a bit per item.
[[nodiscard]] std::shared_ptr<const federated::population> synthesize_on_demand(const synthetic_settings& truth,
                                                                                const rating_settings& split);

[[nodiscard]] dataset_entry synthetic_ratings_entry();

}  // namespace furlong::scenarios
