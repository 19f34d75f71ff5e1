// Model quality for one client.
//
// The algorithm personalizes the model for a client before it is scored: with the private values that it has stored,
// with values reconstructed from examples that are not scored, or the shared model stays as it is.
// client/scored_examples.hpp says which examples these are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "federated/client/client_work.hpp"
#include "federated/client/item_scores.hpp"
#include "federated/evaluation/attack_score.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/client_score.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/ranking/client_ranking.hpp"

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
  /// Whether a score depends on what the store has of this client.
  [[nodiscard]] bool reads_private(std::uint32_t client) const;
  /// A client without examples to score has a score of none.
  [[nodiscard]] result<client_score> score(group in, std::uint32_t client, workspace& use) const;

 private:
  [[nodiscard]] result<bool> load_private(std::uint32_t client, workspace& use) const;
  [[nodiscard]] result<void> score_seen(group in, std::uint32_t client, workspace& use, client_score& out) const;
  void score_unseen(group scored, std::uint32_t client, workspace& use, client_score& out) const;
  /// use.own has the client's private values.
  void score_examples(group scored, std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                      const models::examples_view& asked, workspace& use, client_score& out) const;
  /// The figures of the evaluation; use.own has the client's private values.
  void score_prediction(group scored, std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                        const models::examples_view& asked, workspace& use, client_score& out) const;
  void add_scores(const models::examples_view& asked, workspace& use, client_score& out) const;
  static void add_sums(const models::class_scores& sums, client_score& out);
  void add_predictions(const models::examples_view& batch, workspace& use, client_score& out) const;

  const experiment& e_;
  const models::shared_parameters& model_;
  std::uint64_t version_;
  private_store* store_;
  bool validation_is_unseen_;
  std::vector<std::uint32_t> excluded_;  ///< ascending
  /// Of models::objective::ranking alone.
  struct item_ranking {
    item_scores scores;
    ranking::client_ranking ranking;
  };
  std::optional<item_ranking> ranking_;
  std::optional<attack_score> attack_;  ///< of attacks that can succeed with a client
};

}  // namespace furlong::federated
