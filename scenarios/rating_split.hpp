// How clients with ratings are divided: users into training, validation and test, a user's ratings likewise.
//
// Order of operations, for each user: (1) arrange the ratings, shuffled or by time; (2) keep the first max_examples;
// (3) of those, give the first shares of a second arrangement (at random or by time) to train, validation and test;
// (4) inside each part the order of (1) stays. Users held out keep everything of (2) in `train`.
// Every draw is keyed by (split_seed, user): neither other users nor the run's seed change a user's split.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "federated/population.hpp"
#include "models/options.hpp"
#include "scenarios/dataset.hpp"
#include "scenarios/rating_table.hpp"

namespace furlong::scenarios {

struct split_settings {
  std::uint64_t seed = 1;
  std::size_t max_examples = 0;  ///< 0: all
  bool order_by_time = false;    ///< else shuffled
  bool split_by_time = false;    ///< else at random
  double validation = 0.0;       ///< share of each training user's ratings
  double test = 0.0;
  double unseen_validation = 0.0;  ///< share of the users
  double unseen_test = 0.0;
  std::optional<double> binarize;
};

/// The options that all datasets of ratings share, what is wrong with them, and their values.
[[nodiscard]] std::vector<models::option_spec> split_options();
[[nodiscard]] std::vector<option_problem> check_split(const models::option_values& options);
[[nodiscard]] split_settings read_split(const models::option_values& options);
[[nodiscard]] models::objective labels_of(const models::option_values& options);

/// Splits the ratings: 8 bytes a rating stay in memory, loads look into them and allocate nothing.
/// The shares must fit check_split(). A client's taste is the table's, or the normal score of its mean label (the mean
/// class, when binarized) by rank among all clients, equal means in the order of the clients.
[[nodiscard]] std::shared_ptr<const federated::population> split_ratings(const rating_table& table,
                                                                         const split_settings& settings);

}  // namespace furlong::scenarios
