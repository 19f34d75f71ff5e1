// The parts of a report as JSON: charts and tables (page_json.hpp). Tables may have a "hint" and a "warning".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/report/detail/page_json.hpp"

namespace furlong::tools {

/// All charts: {"clock": "virtual time", "asynchronous": if any run is, and curves are by time at first, "tracks":
/// [...], "sections": [{"title", "note", "charts": [...]}]}. A curve is the mean over the runs of a configuration that
/// count, with its 95 % interval (lowest and highest of two runs), over the rounds of a track: {"rounds", "time" in
/// seconds, "bytes" moved}, the last two where known. Of a single run also its tasks by outcome, availability,
/// staleness, timelines, attention and quality by participation.
[[nodiscard]] page_json figures_of(const reported_runs& report);

// The charts of one run about its tasks and clients. Each is null, or empty, where the run says nothing about it.

/// Mean tasks a round by outcome, over rounds in stretches; only for a run where a task ended in another way than
/// folded or rejected.
[[nodiscard]] page_json outcomes_by_round(const run_record& run);
/// The share of the probed clients that were available, by hour of the virtual day; only for runs of three virtual
/// hours or more.
[[nodiscard]] page_json availability_by_hour(const run_record& run);
/// Folded updates by staleness.
[[nodiscard]] page_json staleness_histogram(const run_record& run);
/// The final metrics of the seen clients by how often they took part, and of the unseen; at most two charts.
[[nodiscard]] std::vector<page_json> quality_by_participation(const run_record& run);
/// Of rankings among all items: the hit ratio and the NDCG by training interactions.
[[nodiscard]] std::vector<page_json> quality_by_activity(const run_record& run);
/// The rounds of which the run records every task.
[[nodiscard]] std::vector<page_json> timelines_of(const run_record& run);

/// The section of the clients: their quality as quantiles, the gains over the first configuration in runs of the same
/// seed and data, who takes part, and a "table". Its charts are empty unless the runs have figures of clients.
[[nodiscard]] page_json client_charts(const reported_runs& report);

/// The t-SNE picture of a run's user embeddings, coloured by label; null when it has none.
[[nodiscard]] page_json embedding_picture(const run_record& run, const std::string& label);
/// How similar the embeddings of the first run and each other one are, or why they are not compared, a sentence each;
/// empty without two that have some.
[[nodiscard]] std::string embedding_likeness(std::span<const run_record> runs, const std::vector<std::string>& labels);

/// The final metrics of every group as a table; null without any.
[[nodiscard]] page_json final_metrics(const run_record& run);
/// {"label", "about": [...], "badge", "notes": [...], "cards": [{"name", "value", "details"}], "tables", "hashes":
/// [[what, hash]], "scenario"}: the outcomes of the selected clients, rejections, participation, private staleness and
/// events, as far as the run has them.
[[nodiscard]] page_json run_data(const run_record& run, const std::string& label);
/// The configurations with their figures as a table. What is the same in all is in a note.
[[nodiscard]] page_json comparison_json(std::span<const run_record> runs);
/// All that the page of these runs holds: figures_of(), "main" (its first table, or null), "runs" and perhaps a "hint".
[[nodiscard]] page_json report_data(std::span<const run_record> runs);

/// Whole numbers from `first` to `last` in at most about `most` stretches of equal width, the width 1, 2 or 5 times a
/// power of ten. Every stretch ends before the next begins.
struct stretch {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
[[nodiscard]] std::vector<stretch> stretches_of(std::uint64_t first, std::uint64_t last, std::size_t most = 60);
/// "7", or "7\u201312".
[[nodiscard]] std::string label_of(const stretch& rounds);

}  // namespace furlong::tools
