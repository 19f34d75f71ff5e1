// Model quality: the scores of clients (client_scorer.hpp), pooled over each group.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "federated/evaluation/client_scorer.hpp"
#include "federated/evaluation/constant_prediction.hpp"
#include "federated/state/ledger.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// A figure of a metric that the model defines, or of a ranking.
struct named_figure {
  std::string name;
  double value = 0.0;
  bool smaller_is_better = false;
  /// Of rankings: the standard error over clients; empty with fewer than two, and where no client has a figure of its
  /// own (coverage).
  std::optional<double> standard_error = {};
};

/// Metrics pooled over all examples of a group.
struct group_metrics {
  std::uint64_t clients = 0;              ///< with at least one scored example, and a finite score
  std::uint64_t unscored = 0;             ///< clients whose score is not finite: no figure counts them
  std::uint64_t examples = 0;             ///< predictions scored: of next_token one a token, else one an example
  double loss = 0.0;                      ///< their mean
  std::optional<double> accuracy;         ///< all but custom and ranking
  std::optional<double> rmse;             ///< ratings
  std::optional<double> auc;              ///< two classes; needs both; ties count half
  std::optional<double> perplexity;       ///< next_token: exp(loss)
  std::optional<double> accuracy_words;   ///< next_token: where the target is a word, neither unknown nor the end
  std::optional<double> accuracy_no_end;  ///< next_token: where the target is a word or an unknown one, not the end
  /// Honest clients under an attack that wants something of them: how much of it it gets. Backdoors: the share of
  /// scored examples with the trigger that are answered as it wants; promotions: of promoted items that the client does
  /// not know, those among its first 10 (ER@10).
  std::optional<double> attack_success = {};
  std::vector<named_figure> custom;             ///< of the model's metrics(), those that somebody has
  std::optional<constant_prediction> constant;  ///< what it would score of the same examples, where that is known
};

/// Seen clients with similar counts, of aggregated updates or of train examples, and their metrics.
struct client_bin {
  std::uint32_t least = 0;  ///< smallest count of a client in this bin
  std::uint32_t most = 0;
  std::uint64_t clients = 0;  ///< clients of the bin, all scored: metrics.clients
  group_metrics metrics;
};

/// The metrics of some clients in each group that is scored, by number of the group (group_names).
using metrics_by_group = std::array<std::optional<group_metrics>, 4>;

/// A client whose score is not finite: its examples, or the model's answers to them, are not.
struct unscored_client {
  group in = group::seen;
  std::uint32_t client = 0;
  std::string figure;  ///< that is not finite: "loss", "prediction" or a metric of the model
};

/// The metrics of all groups of the population. `validation` is the unseen validation clients, or the validation parts
/// of the seen clients if there are none.
struct evaluation_report {
  std::uint64_t version = 0;
  std::optional<group_metrics> validation;
  std::optional<group_metrics> seen;
  std::optional<group_metrics> unseen;
  std::optional<group_metrics> train;
  /// The seen group by participation, ascending, at most ten bins; empty without a ledger. Clients that never trained
  /// are the first bin; the others are divided as evenly as possible, with equal counts in one bin.
  std::vector<client_bin> by_participation;
  /// Of rankings: the seen group by train examples, ascending, at most five bins, likewise; empty where these counts
  /// are not known.
  std::vector<client_bin> by_activity = {};
  /// The clients of each of evaluation.client_groups, by its number; empty without them.
  std::vector<metrics_by_group> by_client_group = {};
  /// Clients that no figure counts, groups in order, clients ascending; of each group the first most_unscored. All are
  /// in group_metrics::unscored.
  std::vector<unscored_client> unscored = {};
};

/// Clients without a finite score that a report names for each group.
inline constexpr std::size_t most_unscored = 20;

/// The names of the groups, by number.
inline constexpr std::array<std::string_view, 4> group_names = {"validation", "seen", "unseen", "train"};

/// A metric by its name: a group, a point and one of figure_names() ("unseen.rmse"). Nothing if the report has no such
/// metric.
[[nodiscard]] std::optional<double> metric_of(const evaluation_report& report, std::string_view name);
/// Whether a figure of that name exists, though not every population has it: for a model, or for any built-in one.
[[nodiscard]] bool valid_metric(std::string_view name, const models::model* model = nullptr);
/// Of two values of a metric of that report, which is the better one.
[[nodiscard]] bool smaller_is_better(const evaluation_report& report, std::string_view name);
/// The same of a figure, without its group, of that model.
[[nodiscard]] bool smaller_is_better(const models::model& model, std::string_view figure);
/// The figures that an evaluation may have, likewise, in words: "rmse, accuracy, ... or loss".
[[nodiscard]] std::string figure_names(const models::model* model = nullptr);

/// One evaluation, divided into clients so that any number of threads can share it. Scores are kept per client and
/// summed in order: the result does not depend on threads. With `evaluation.clients` = N, at most N clients of each
/// group are scored: drawn by (seed, group), the same in every evaluation of a run. Time and memory depend on the
/// scored clients, not on the population.
class evaluation {
 public:
  /// Scores the model as clients receive it: with the broadcast tensors of the algorithm, and quantized as
  /// network.compression says. `store` may be null if the algorithm is stateless. `ledger` provides the bins of
  /// report(); it is read here and not kept. The other arguments must outlive the evaluation.
  evaluation(const experiment& e, const model_version& of, private_store* store,
             const participation_ledger* ledger = nullptr);

  /// The private values of these clients are about to be erased: they are scored as if they had none. So a run that
  /// ended before the erasure and one that is resumed after it say the same.
  void exclude(std::vector<std::uint32_t> clients) { scorer_.exclude(std::move(clients)); }
  /// Leaves these clients, ascending, out of all groups, in score() and in report(). Replaces an earlier list.
  void leave_out(std::vector<std::uint32_t> clients) { left_out_ = std::move(clients); }
  /// Clients to score, all groups together.
  [[nodiscard]] std::size_t size() const { return work_.size(); }
  /// Scores the i-th client. Thread-safe for distinct i, each thread with its own workspace.
  [[nodiscard]] result<void> score(std::size_t i, workspace& use);
  /// Scores all clients, one after the other.
  [[nodiscard]] result<void> score_all(workspace& use);
  /// The i-th client to score and its group: groups in order, clients ascending.
  [[nodiscard]] std::pair<group, std::uint32_t> client(std::size_t i) const { return {work_[i].in, work_[i].client}; }
  /// Accepts a score that was computed elsewhere, without client_score::best, which no process sends. False if this
  /// client is not to be scored here. Not thread-safe.
  bool accept(scored_client score);
  /// Whether the i-th client is to be scored: it is not left out.
  [[nodiscard]] bool wants(std::size_t i) const;
  /// Whether its score depends on what the store has of it.
  [[nodiscard]] bool reads_private(std::size_t i) const { return scorer_.reads_private(work_[i].client); }
  /// The score of the i-th client, computed by another process of the same run. Thread-safe for distinct i.
  void put(std::size_t i, client_score score) { scores_[i] = std::move(score); }
  /// The metrics. Clients without a score count as clients without examples.
  [[nodiscard]] evaluation_report report() const;

 private:
  struct item {
    group in;
    std::uint32_t client;
  };
  /// True if the i-th client has examples, and is in report().
  [[nodiscard]] bool belongs(std::size_t i) const;
  /// True if it counts in the figures: its score is finite.
  [[nodiscard]] bool counts(std::size_t i) const;
  void add_group(group in, std::span<const std::uint32_t> clients);
  [[nodiscard]] std::optional<group_metrics> pool_group(group which) const;
  [[nodiscard]] group_metrics pool(std::span<const std::size_t> items) const;
  /// The same; nothing without a scored example.
  [[nodiscard]] std::optional<group_metrics> pool_scored(std::span<const std::size_t> items) const;
  /// Seen clients in at most so many bins with as many clients each; equal counts are in one bin.
  /// @param counts by client of the seen group
  void add_bins(std::vector<std::size_t> items, std::size_t parts, std::span<const std::uint32_t> counts,
                std::vector<client_bin>& bins) const;
  [[nodiscard]] std::vector<client_bin> by_participation() const;
  [[nodiscard]] std::vector<client_bin> by_activity() const;
  /// The share of all items that are among the first K of somebody; nothing if a client's are not known.
  [[nodiscard]] std::optional<double> coverage(std::span<const std::size_t> items, std::uint32_t places) const;
  /// Figures of the model's metrics().
  void add_own_figures(std::span<const std::size_t> items, group_metrics& total) const;
  [[nodiscard]] std::vector<metrics_by_group> by_client_group() const;
  [[nodiscard]] std::vector<unscored_client> unscored() const;

  const experiment& e_;
  std::shared_ptr<const models::shared_parameters> sent_;  ///< the quantized model; null: the model itself
  client_scorer scorer_;
  std::uint64_t version_;
  std::vector<item> work_;
  std::vector<client_score> scores_;
  std::vector<std::uint32_t> left_out_;  ///< ascending
  std::size_t first_seen_ = 0;           ///< item of the seen group; its other items follow
  std::vector<std::uint32_t> folded_;    ///< by client of the seen group: aggregated updates; empty without a ledger
};

}  // namespace furlong::federated
