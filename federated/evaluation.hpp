// How good the model is: the scores of clients (client_scorer.hpp), pooled over all of a group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "federated/client/client_scorer.hpp"
#include "federated/participation/ledger.hpp"
#include "federated/protocol/server_state.hpp"

namespace furlong::federated {

/// Metrics pooled over all examples of a group.
struct group_metrics {
  std::uint64_t clients = 0;   ///< with at least one scored example
  std::uint64_t examples = 0;  ///< predictions scored: of next_token one a token, else one an example
  double loss = 0.0;           ///< their mean
  double accuracy = 0.0;
  std::optional<double> rmse;             ///< ratings
  std::optional<double> auc;              ///< two classes, when both occur and no prediction is NaN; ties count half
  std::optional<double> perplexity;       ///< next_token: exp(loss)
  std::optional<double> accuracy_words;   ///< next_token: where the target is a word, neither unknown nor the end
  std::optional<double> accuracy_no_end;  ///< next_token: where the target is a word or an unknown one, not the end
};

/// Seen clients that took part about equally often, and how good the model is for them.
struct participation_bin {
  std::uint32_t least = 0;  ///< fewest updates of one of them that went into a model
  std::uint32_t most = 0;
  std::uint64_t clients = 0;  ///< all of them scored: metrics.clients
  group_metrics metrics;
};

/// The metrics of all groups that the population has. `validation` is the unseen validation clients, or where there are
/// none the validation parts of the seen ones.
struct evaluation_report {
  std::uint64_t version = 0;
  std::optional<group_metrics> validation;
  std::optional<group_metrics> seen;
  std::optional<group_metrics> unseen;
  /// The seen group by participation, ascending, at most ten bins; empty without a ledger. Those never trained have the
  /// first to themselves; the others are cut into parts as equal as can be, clients alike in one bin.
  std::vector<participation_bin> by_participation;
};

/// A figure by its name: a group, a point and one of figure_names() ("unseen.rmse"). Nothing when the report does not
/// have it, or nobody has.
[[nodiscard]] std::optional<double> metric_of(const evaluation_report& report, std::string_view name);
/// Whether a figure of that name exists, though not every population has it: for models of an objective, or for any.
[[nodiscard]] bool valid_metric(std::string_view name, std::optional<models::objective> of = std::nullopt);
/// Of two values of a valid metric, which is the better one.
[[nodiscard]] bool smaller_is_better(std::string_view name);
/// The figures that an evaluation may have, likewise, in words: "rmse, accuracy, ... or loss".
[[nodiscard]] std::string figure_names(std::optional<models::objective> of = std::nullopt);

/// One evaluation, cut into clients so that any number of threads can share it. Scores are kept per client and summed
/// in order, so the result does not depend on who computed what. With `evaluation.clients` = N, at most N clients of
/// each group are scored: drawn by (seed, group), the same ones in every evaluation of a run. Time and memory follow
/// the clients scored, not the population.
class evaluation {
 public:
  /// What is scored is the model as clients get it: with the tensors that they get beside it, and rounded where
  /// network.compression says so. `store` may be null where the algorithm is stateless. `ledger`, from which report()
  /// gets its bins, is read here and not kept; the other arguments must outlive the evaluation.
  evaluation(const experiment& e, const protocol::model_version& of, private_store* store,
             const participation_ledger* ledger = nullptr);

  /// The private values of these clients are about to be erased: they are scored as if they had none. So a run that
  /// ended before the erasure and one that is resumed after it say the same.
  void exclude(std::vector<std::uint32_t> clients) { scorer_.exclude(std::move(clients)); }
  /// Clients to score, all groups together.
  [[nodiscard]] std::size_t size() const { return work_.size(); }
  /// Scores the i-th. Distinct i may run at once, each thread with a workspace of its own.
  [[nodiscard]] result<void> score(std::size_t i, workspace& use);
  /// Clients to score: the i-th, with its group. Ascending within a group, and groups in order.
  [[nodiscard]] std::pair<group, std::uint32_t> client(std::size_t i) const { return {work_[i].in, work_[i].client}; }
  /// Takes a score that was computed elsewhere. False when that client is not to be scored here. One thread at a time.
  bool accept(scored_client score);
  /// The metrics, once all are scored; clients that were not count as if they had no examples.
  [[nodiscard]] evaluation_report report() const;

 private:
  struct item {
    group in;
    std::uint32_t client;
  };
  void add_group(group in, std::span<const std::uint32_t> clients);
  [[nodiscard]] std::optional<group_metrics> pool_group(group which) const;
  [[nodiscard]] group_metrics pool(std::span<const std::size_t> items) const;
  [[nodiscard]] std::vector<participation_bin> bins() const;

  const experiment& e_;
  std::shared_ptr<const models::shared_parameters> sent_;  ///< as clients get the model; null: as it is
  client_scorer scorer_;
  std::uint64_t version_;
  std::vector<item> work_;
  std::vector<client_score> scores_;
  std::size_t first_seen_ = 0;         ///< item of the seen group; its other items follow
  std::vector<std::uint32_t> folded_;  ///< of the seen group's clients: updates folded so far; empty without a ledger
};

}  // namespace furlong::federated
