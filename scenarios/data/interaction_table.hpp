// Interactions of users with items: implicit feedback, of which only the order of predictions is learned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/data/rating_table.hpp"

namespace furlong::scenarios {

/// Which entries of a table are interactions, and of which users.
struct feedback_settings {
  std::optional<double> at_least;       ///< label from which on an entry is one; empty: every entry is
  std::string label_key;                ///< that sets it, for messages
  std::uint32_t min_interactions = 10;  ///< users with fewer are left out
};

/// The options of rating data that can be taken for interactions: feedback, implicit_at, min_interactions.
[[nodiscard]] std::vector<option_spec> feedback_options();
/// The option min_interactions, with this default.
[[nodiscard]] option_spec min_interactions_option(std::optional<std::int64_t> fallback);
/// True if these options say so.
[[nodiscard]] bool is_implicit(const option_values& options);
[[nodiscard]] feedback_settings read_feedback(const option_values& options);
/// Adds the problems of these options.
void add_feedback_problems(const option_values& options, std::vector<option_problem>& problems);

/// Keeps interactions alone, users with enough of them, and items that somebody of these interacted with; numbers both
/// anew, in their order. Notes how many users are left out. All tastes are 0. Fails (kind usage) if nobody is left.
/// @param place of the data in messages
[[nodiscard]] result<void> keep_interactions(rating_table& table, const feedback_settings& settings,
                                             const std::string& place, std::vector<std::string>& notes);

}  // namespace furlong::scenarios
