// Model quality for one client.
//
// Seen clients are scored on their own test part, after the algorithm has personalized the model for them: with the
// private values that they have stored, with values reconstructed from their train part, or with the shared model as it
// is. Unseen clients are scored on their query batches (odd ones) after personalization on their support batches (even
// ones). With evaluation.split = false all their examples are scored, with the initial values.
#pragma once

#include <cstdint>
#include <vector>

#include "federated/client/client_score.hpp"
#include "federated/client/client_work.hpp"
#include "federated/private_store.hpp"

namespace furlong::federated {

/// Scores the clients of an experiment on one model. Thread-safe, each thread with a workspace of its own.
class client_scorer {
 public:
  /// `model` is as clients get it, of that version. `store` may be null where the algorithm keeps no state. The
  /// arguments must outlive the scorer.
  client_scorer(const experiment& e, const models::shared_parameters& model, std::uint64_t version,
                private_store* store);

  /// These clients are scored as if they had no private values. To be called before any is scored.
  void exclude(std::vector<std::uint32_t> clients);
  /// A client without examples to score has a score of none.
  [[nodiscard]] result<client_score> score(group in, std::uint32_t client, workspace& use) const;

 private:
  [[nodiscard]] result<bool> load_private(std::uint32_t client, workspace& use) const;
  [[nodiscard]] result<void> score_seen(group in, std::uint32_t client, workspace& use, client_score& out) const;
  void score_unseen(std::uint32_t client, workspace& use, client_score& out) const;
  void add_scores(std::uint32_t first, std::uint32_t last, workspace& use, client_score& out) const;
  void add_predictions(const models::examples_view& batch, workspace& use, client_score& out) const;
  [[nodiscard]] std::uint32_t batch_size() const;

  const experiment& e_;
  const models::shared_parameters& model_;
  std::uint64_t version_;
  private_store* store_;
  bool validation_is_unseen_;
  std::vector<std::uint32_t> excluded_;  ///< ascending
};

}  // namespace furlong::federated
