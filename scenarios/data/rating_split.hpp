// Splits clients with ratings, and maps ratings to labels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/options.hpp"
#include "federated/experiment/population.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/data/division.hpp"
#include "scenarios/data/rating_table.hpp"

namespace furlong::scenarios {

struct rating_settings : split_settings {
  std::optional<double> binarize;  ///< ratings become 1 at or above it, else 0
  bool interactions = false;       ///< all labels are 1: models::objective::ranking
};

/// The options that all rating datasets share, and their values; check_split() reports their problems.
[[nodiscard]] std::vector<option_spec> rating_options();
[[nodiscard]] rating_settings read_rating_settings(const option_values& options);
/// Facts of the data that follow from the options (dataset_entry::facts).
[[nodiscard]] models::data_facts rating_facts(const option_values& options);

/// The label of a rating.
[[nodiscard]] inline float label_of(float rating, const rating_settings& settings) {
  if (settings.interactions) return 1.0F;
  if (!settings.binarize) return rating;
  return rating >= static_cast<float>(*settings.binarize) ? 1.0F : 0.0F;
}

/// Splits the ratings: 8 bytes per rating stay in memory; loads refer to them and allocate nothing. The shares must
/// pass check_split(). A client's taste is the table's, or the normal score of its mean label (the mean class if
/// binarized) by rank among all clients, ties in the order of the clients.
[[nodiscard]] std::shared_ptr<const federated::population> split_ratings(const rating_table& table,
                                                                         const rating_settings& settings);

// Ranks as standard normal scores.

/// The normal scores of the clients' values by rank, ties in the order of the clients.
[[nodiscard]] std::vector<float> normal_scores(const std::vector<double>& values);

}  // namespace furlong::scenarios
