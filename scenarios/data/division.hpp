// Splits users into training, validation and test, and each user's examples likewise. All sources use this code,
// whether examples are kept in memory or generated on demand.
//
// For each user: (1) order the examples, shuffled or by time; (2) keep the first max_examples; (3) assign shares of a
// second order (at random or by time) to train, validation and test; (4) keep the order of (1) within each part.
// Held-out users keep all examples of (2) in `train`.
// Leave-one-out: (3) puts the newest example into test, the one before it into validation, and the rest into train; of
// examples with the same time the first one of the source is the newest, as in public code of recommenders. A user with
// two examples has no validation part, one with one example only a train part. Held-out users keep all but the newest
// example in `train`, and that one in the part that they are held out for.
// Every draw is keyed by (split_seed, user): a user's split does not depend on other users or the run's seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/options.hpp"
#include "federated/experiment/population.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

struct split_settings {
  std::uint64_t seed = 1;
  std::size_t max_examples = 0;  ///< 0: all
  bool order_by_time = false;    ///< else shuffled
  bool split_by_time = false;    ///< else at random
  bool leave_one_out = false;    ///< by time; `validation` and `test` have no effect then
  double validation = 0.0;       ///< share of each training user's examples
  double test = 0.0;
  double unseen_validation = 0.0;  ///< share of the users
  double unseen_test = 0.0;
};

/// The options that all sources share, their problems, and their values.
/// @param subject the source's word for examples, such as "ratings"
/// @param shares the default of `split`
/// @param leaves_one_out whether split_by = "leave-one-out" is possible
[[nodiscard]] std::vector<option_spec> split_options(const std::string& subject,
                                                     const std::vector<double>& shares = {1.0, 0.0, 0.0},
                                                     bool leaves_one_out = false);
[[nodiscard]] std::vector<option_problem> check_split(const option_values& options);
[[nodiscard]] split_settings read_split(const option_values& options);

/// What a user's examples are for.
enum class user_role : std::uint8_t { training, validation, test };

/// Users by purpose, each list ascending.
struct user_groups {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
  std::vector<bool> held_out;  ///< by user; empty if no user is held out

  [[nodiscard]] bool holds_out(std::uint32_t user) const { return !held_out.empty() && held_out[user]; }
  [[nodiscard]] user_role role_of(std::uint32_t user) const;
};
[[nodiscard]] user_groups divide_users(std::uint32_t users, const split_settings& settings);

/// A user's examples in order are train [0, train_end), validation [train_end, validation_end) and test
/// [validation_end, end).
struct part_bounds {
  std::uint32_t train_end = 0;
  std::uint32_t validation_end = 0;
  std::uint32_t end = 0;

  [[nodiscard]] std::uint32_t begin_of(federated::part which) const;
  [[nodiscard]] std::uint32_t end_of(federated::part which) const;
};
/// The number of a user's `examples` in each part: O(1).
[[nodiscard]] part_bounds bounds_of(std::uint32_t examples, const split_settings& settings, user_role role);

/// The split of a user's examples, with buffers; reused by a caller who splits many users.
struct division {
  part_bounds bounds;
  std::vector<std::uint32_t> picks;  ///< indices of the user's examples, part after part, each in its order

  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> ranked;
  std::vector<std::uint8_t> parts;
};
/// Splits `examples` examples of a user. `times` has one entry per example, or is empty if they are in order of time.
void divide_examples(std::uint32_t user, std::uint32_t examples, std::span<const std::uint32_t> times,
                     const split_settings& settings, user_role role, division& out);

}  // namespace furlong::scenarios
