// Runs side by side: what each is called, and what its figures are about.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/compare/configurations.hpp"
#include "tools/compare/numbers.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

/// A metric of an evaluation.
struct metric {
  const char* key;  ///< in summary.json
  const char* title;
  const char* short_title;
  number_style style;
  bool smaller_is_better;
};
/// The one that a run is judged by first stands before the others: perplexity, of a language model.
inline constexpr std::array<metric, 10> metrics{{
    {"rmse", "RMSE", "RMSE", number_style::plain, true},
    {"perplexity", "Perplexity", "perpl.", number_style::plain, true},
    {"accuracy", "Accuracy", "acc.", number_style::accuracy, false},
    {"accuracy_words", "Accuracy of words", "acc. words", number_style::accuracy, false},
    {"accuracy_no_end", "Accuracy before the end", "acc. no end", number_style::accuracy, false},
    {"auc", "AUC", "AUC", number_style::plain, false},
    {"full_mrr", "MRR", "MRR", number_style::plain, false},
    {"sampled_mrr", "MRR of drawn candidates", "drawn MRR", number_style::plain, false},
    {"attack_success", "Success of the attack", "attack", number_style::accuracy, true},
    {"loss", "Loss", "loss", number_style::plain, true},
}};
/// "eval.unseen."
[[nodiscard]] std::string group_key(std::size_t group);
/// A metric by what stands before its key, such as group_key(). Empty also where it says what another one says: squared
/// error is the loss of ratings, and perplexity says the same of words.
[[nodiscard]] std::optional<double> score(const figure_set& figures, const std::string& before, const metric& which);

/// What the run came to: the summary, if it has an evaluation, else the last of its rounds that has one, or null.
[[nodiscard]] const figure_set* final_evaluation(const run_record& run);
/// What the groups of these evaluations are, and the figures whose names do not say it: one text of HTML for all runs,
/// about what occurs in them; empty without evaluations.
[[nodiscard]] std::string explained_figures(std::span<const run_record> runs);
/// Whether a run's perplexity, accuracy and loss are those of FedAtt's published batches (protocol "fedatt-2018"), in
/// which no word is predicted from its own sentence: not figures of a language model.
[[nodiscard]] bool is_no_language_model(const run_record& run);
/// Says so of such runs: plain text, of one run or of a comparison; empty where there is none.
[[nodiscard]] std::string protocol_warning(std::span<const run_record> runs);
/// The first thing in which two runs' data differ, such as "split_seed"; empty where they are the same. In other data a
/// client of the same number is another one.
[[nodiscard]] std::string data_difference(const option_values& a, const option_values& b);

/// The names of its groups of clients, ascending.
[[nodiscard]] std::vector<std::string> client_groups_of(const run_record& run);

/// Server versions.
[[nodiscard]] std::uint64_t rounds_of(const run_record& run);

/// What a run sent, and what for; of an interrupted run, from its rounds.
struct traffic {
  double up = 0.0;    ///< bytes of the updates
  double down = 0.0;  ///< bytes of the models
  std::uint64_t tasks = 0;
  std::uint64_t reports = 0;  ///< tasks whose client reported, whatever became of its update

  /// Every task is sent a model; empty without tasks.
  [[nodiscard]] std::optional<double> down_per_task() const;
  /// Only who reports sends anything; empty without reports.
  [[nodiscard]] std::optional<double> up_per_report() const;
};
[[nodiscard]] traffic traffic_of(const run_record& run);

/// Tasks with that outcome: of a count, or of counts by reason or stage.
[[nodiscard]] std::uint64_t tasks_with(const figure_set& figures, const std::string& outcome);
/// Tasks that ended without being folded.
[[nodiscard]] std::uint64_t wasted_tasks(const run_summary& summary);

/// A name for each run, no two equal: that of its configuration and the seed, as far as it has some; then the folder.
[[nodiscard]] std::vector<std::string> labels_of(std::span<const run_record> runs,
                                                 std::span<const configuration> configurations);

}  // namespace furlong::tools
