// The score of one client by the rank of its held-out items.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "federated/experiment/client_score.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/ranking/figures.hpp"

namespace furlong::federated::ranking {

/// Immutable and thread-safe.
class client_ranking {
 public:
  /// The experiment must outlive it.
  explicit client_ranking(const experiment& setup);

  /// Sets the score of a client from the scores of all items. Per figure a sum and a count (client_score::metrics, in
  /// the order of figures_of()): one client, of the exposure the given items that the client does not know. The loss is
  /// the sum over held-out items of the mean of log(1 + exp(score of a drawn candidate - score of the item)). A client
  /// without a candidate has no score. Scores that are not finite make a score that is not.
  void score(group scored, std::uint32_t client, std::span<const std::uint32_t> asked, std::span<const float> items,
             client_score& out) const;

 private:
  const experiment& e_;
  std::vector<ranking_figure> figures_;
};

}  // namespace furlong::federated::ranking
