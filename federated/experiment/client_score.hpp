// The score of one client.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/model.hpp"

namespace furlong::federated {

/// The group of a figure: unseen clients held out for validation, training clients on their test part, unseen ones held
/// out for test, or training clients on their train part.
enum class group : std::uint8_t { validation, seen, unseen, train };

/// Sums over the scored examples of one client.
struct client_score {
  double squared_error = 0.0;  ///< of predictions against labels (ratings)
  double loss = 0.0;           ///< squared error, logistic loss, or negative log-likelihood in nats
  std::uint64_t correct = 0;   ///< |y - yhat| <= 0.5 for ratings; the right side of even odds; the likeliest class
  std::uint64_t examples = 0;  ///< predictions scored: one an example, or one a token (next_token)
  std::vector<std::pair<float, bool>> odds;  ///< prediction and class, for the AUC; two classes only
  std::uint64_t words = 0;                   ///< next_token: predictions whose target is a word of the vocabulary
  std::uint64_t words_correct = 0;           ///< of these
  std::uint64_t inside = 0;                  ///< next_token: predictions whose target is not the end of the sentence
  std::uint64_t inside_correct = 0;          ///< of these
  /// Custom and ranking: of the model's metrics(), in their order; empty: without examples.
  std::vector<models::metric_sum> metrics = {};
  /// Of an honest client under an attack: what the attack wanted, and how much of it it got (attack_score.hpp). Not
  /// sent.
  models::metric_sum attack = {};
  double spread = 0.0;  ///< ratings: sum of squared differences of the labels from their mean, of this client alone
  /// Ranking: the best items that the client does not know, best first, as many as the last of evaluation.top; empty:
  /// unknown. They are the client's own and are not sent.
  std::vector<std::uint32_t> best = {};
};

/// True if all values are finite. Those of a diverged model are not, and those of examples that are not finite.
[[nodiscard]] inline bool is_finite(const client_score& score) {
  return std::isfinite(score.squared_error) && std::isfinite(score.loss) && std::isfinite(score.spread) &&
         std::ranges::all_of(score.metrics,
                             [](const auto& one) { return std::isfinite(one.sum) && std::isfinite(one.count); }) &&
         std::ranges::all_of(score.odds, [](const auto& each) { return std::isfinite(each.first); });
}

/// Of a client that has examples and could not be scored: not finite, so that it is counted as unscored.
[[nodiscard]] inline client_score failed_score() {
  client_score score;
  score.examples = 1;
  score.loss = std::numeric_limits<double>::quiet_NaN();
  return score;
}

/// What is not finite in a score that is not: "loss", "prediction", or a metric of the model.
[[nodiscard]] inline std::string not_finite(const client_score& score, const models::model& of) {
  if (!std::isfinite(score.loss) || !std::isfinite(score.squared_error)) return "loss";
  const auto metrics = of.metrics();
  for (std::size_t i = 0; i < score.metrics.size() && i < metrics.size(); ++i)
    if (!std::isfinite(score.metrics[i].sum) || !std::isfinite(score.metrics[i].count)) return metrics[i].name;
  return "prediction";
}

/// A client's score, with its name.
struct scored_client {
  group in = group::seen;
  std::uint32_t client = 0;
  client_score score;
};

}  // namespace furlong::federated
