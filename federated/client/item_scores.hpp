// The model's score of every item for one person, by which items are ranked.
#pragma once

#include <cstdint>
#include <span>

#include "federated/client/workspace.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// Scores all items of the data on one model. Immutable; thread-safe, each thread with a workspace of its own.
class item_scores {
 public:
  /// `model` is as clients get it. Both must outlive this.
  item_scores(const experiment& setup, const models::shared_parameters& model);

  /// Personalizes the model, with use.own as the client's private values, and scores all items.
  /// @param known the client's own examples that the algorithm may use
  /// @param scores one per item
  personal_source score(std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                        workspace& use, std::span<float> scores) const;

 private:
  /// The same on whole tensors, without gathering the rows of all items. False if personalize() moved rows: then the
  /// rows of all items must be gathered before.
  bool score_whole(std::uint32_t client, const client_kind& kind, const models::examples_view& known, workspace& use,
                   std::span<float> scores, personal_source& source) const;
  [[nodiscard]] std::span<const float> rows_of(std::size_t tensor, const workspace& use) const;
  [[nodiscard]] bool moved_rows(const workspace& use) const;

  const experiment& e_;
  const models::shared_parameters& model_;
  models::examples all_items_;  ///< one example for each, in order
  bool keeps_rows_;             ///< clients keep rows of items of their own
};

}  // namespace furlong::federated
