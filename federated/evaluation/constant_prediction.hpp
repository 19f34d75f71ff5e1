// What a prediction scores that is the same for every example: the level of a model that has learnt nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "federated/experiment/client_score.hpp"
#include "models/model.hpp"

namespace furlong::federated {

/// The figures of that prediction, over the examples of a group.
struct constant_prediction {
  std::optional<double> loss;
  std::optional<double> accuracy;
  /// Ratings: most clients have smaller errors than it has of theirs. The mean error of a group may be that of a few
  /// clients, on which a reconstruction overshot.
  bool loses_to_most = false;
};

/// The labels of scored clients, as far as their scores tell them. That is little, since labels are the clients' own:
///
///   ratings      the variance of each client's labels about their mean: the constant is this mean, one for each client
///   two classes  every label: the constant is the more frequent class
///   classes      nothing: the constant gives all classes the same chance
///   next_token   how many targets are the end of a sentence or an unknown word: the constant is the more frequent one
class pooled_labels {
 public:
  void add(const client_score& score);
  /// Nothing if the objective has no constant prediction, or all labels are the same.
  /// @param classes of a categorical objective
  [[nodiscard]] std::optional<constant_prediction> constant(models::objective kind, std::uint32_t classes) const;

 private:
  [[nodiscard]] std::optional<constant_prediction> constant_rating() const;
  [[nodiscard]] std::optional<constant_prediction> constant_side() const;
  [[nodiscard]] std::optional<constant_prediction> constant_token() const;

  std::uint64_t examples_ = 0;
  double spread_ = 0.0;
  std::uint64_t freedom_ = 0;  ///< of the spreads: examples less one for each client
  std::uint64_t clients_ = 0;
  std::uint64_t closer_ = 0;  ///< clients whose squared errors are below their spread
  std::uint64_t sides_ = 0;   ///< examples of two classes
  std::uint64_t positives_ = 0;
  std::uint64_t words_ = 0;
  std::uint64_t inside_ = 0;
};

}  // namespace furlong::federated
