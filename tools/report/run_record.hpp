// What a run directory says about a run, as the report needs it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"

namespace furlong::tools {

/// Metrics of one group of clients, pooled over its examples. Only those that the model has are set; one that is not
/// finite, as after a divergence, is NaN.
struct group_figures {
  std::optional<double> rmse;
  std::optional<double> accuracy;         ///< 0 to 1
  std::optional<double> accuracy_words;   ///< the same where the target is a word, neither unknown nor the end
  std::optional<double> accuracy_no_end;  ///< the same where the target is not the end, but may be unknown
  std::optional<double> auc;
  std::optional<double> perplexity;
  std::optional<double> loss;  ///< mean per example
  std::uint64_t examples = 0;
  std::uint64_t clients = 0;

  friend bool operator==(const group_figures&, const group_figures&) = default;
};

/// The groups of an evaluation, in the order they are shown, by the names the files use.
inline constexpr std::array<std::string_view, 3> evaluation_groups{"validation", "seen", "unseen"};
/// One evaluation: by group; a group that the run does not have is empty.
using evaluation_figures = std::array<std::optional<group_figures>, evaluation_groups.size()>;

/// Counts by reason or stage, in the order of the file.
using named_counts = std::vector<std::pair<std::string, std::uint64_t>>;

/// A task in the timeline of a round; times in virtual seconds of the run.
struct task_figures {
  std::uint64_t client = 0;
  double started = 0.0;
  double ended = 0.0;
  bool at_work = false;  ///< it had not ended when the round did, which is `ended`
  std::string outcome;   ///< "folded", "late", ...
};

/// How much the clients' updates weighed in one tensor; 1 is an equal share. Their mean is 1.
struct attention_figures {
  std::string tensor;
  double least = 0.0;
  double most = 0.0;
};

/// One line of metrics.jsonl.
struct round_figures {
  std::uint64_t round = 0;
  std::optional<double> began, ended;  ///< virtual seconds; only runs in virtual time have them
  std::uint64_t selected = 0;
  std::uint64_t folded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t late = 0, surplus = 0, abandoned = 0, in_flight = 0;
  named_counts dropped;         ///< by stage
  std::uint64_t probed = 0;     ///< clients looked at by the selection
  std::uint64_t available = 0;  ///< of these, those that could be asked
  std::uint64_t examples = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::optional<double> loss;  ///< mean training loss per example
  std::optional<double> change_norm;
  bool applied = true;                       ///< false: nothing usable was folded, and loss and change_norm say nothing
  bool gave_up = false;                      ///< the round was abandoned
  std::vector<std::uint64_t> staleness;      ///< folded updates by staleness: 0, 1, 2, ... versions
  std::vector<task_figures> spans;           ///< few rounds have them
  std::vector<attention_figures> attention;  ///< by tensor; runs that report it
  std::optional<evaluation_figures> eval;
};

/// All lines of events.jsonl with the same event and reason. A run may have millions of lines, but few kinds.
struct event_kind {
  std::string event;
  std::string reason;  ///< or the stage; may be empty
  std::uint64_t count = 0;
  std::optional<std::uint64_t> first_round;
  std::optional<std::uint64_t> last_round;
  std::vector<std::string> subjects;  ///< the first few whom or what it was about: "client 17"
};

/// How stale something was: updates when they were folded, private values when they were used.
struct staleness_figures {
  std::optional<double> mean, p50, p90, max;
};

/// How often clients took part, over all clients that may be asked; taking part is having an update folded.
struct participation_figures {
  std::optional<std::uint64_t> clients;
  std::optional<double> mean, gini, p10, p50, p90, max;
  std::optional<std::uint64_t> never_selected, never_folded;
};

/// When a metric first was as good as wanted.
struct target_figures {
  std::string metric;
  std::optional<double> value;
  bool reached = false;
  std::optional<std::uint64_t> version;   ///< that reached it
  std::optional<double> virtual_seconds;  ///< until then
};

/// What a run with privacy.noise has spent.
struct privacy_figures {
  std::optional<double> epsilon, delta;  ///< no epsilon: nothing is guaranteed
  std::string relation;                  ///< of neighbours, who differ in a client; empty: it cannot be accounted
  bool simulated = false;
};

/// Metrics of the seen clients that took part `least` to `most` times.
struct participation_bin {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  group_figures of;
};

/// summary.json. Texts and figures that it does not have stay empty.
struct run_summary {
  std::string version;  ///< of Furlong
  std::string failed;   ///< why it came to nothing, though it ran to its end; empty: it did not
  std::string kernel_level, model_sha256, private_sha256, added_sha256;
  std::uint64_t rounds = 0;
  std::string clock;  ///< "real" or "virtual": what `virtual_seconds` and times of rounds were measured by
  std::optional<double> wall_seconds, cpu_seconds, train_seconds, virtual_seconds;
  std::optional<double> clients_per_second, examples_per_second;
  std::uint64_t bytes_up = 0, bytes_down = 0;
  std::uint64_t selected = 0, folded = 0, late = 0, surplus = 0, abandoned = 0, in_flight = 0;
  named_counts rejected;  ///< by reason
  named_counts dropped;   ///< by stage
  std::optional<std::uint64_t> peak_rss_bytes, private_clients;
  std::uint64_t rounds_abandoned = 0;
  std::optional<double> wasted_share;                  ///< of the selected: tasks that ended without being folded
  std::optional<staleness_figures> staleness;          ///< of folded updates, in versions; asynchronous runs
  std::optional<staleness_figures> private_staleness;  ///< in rounds
  std::optional<staleness_figures> private_staleness_seconds;  ///< in virtual seconds
  std::optional<participation_figures> participation;
  std::optional<target_figures> time_to_target;
  std::optional<privacy_figures> privacy;
  std::vector<participation_bin> by_participation;  ///< seen clients, ascending
  std::optional<evaluation_figures> eval;
  std::optional<std::uint64_t> best_version;  ///< with select = "best": the version that `eval` is about
  /// Every number of summary.json outside of lists, by dotted key; one that is null, as after a divergence, is NaN.
  std::map<std::string, double, std::less<>> figures;
  std::map<std::string, bool, std::less<>> smaller_is_better;  ///< of the metrics that the model defines
  /// Only of runs that send nothing: whether the model has values of single clients.
  std::optional<bool> personalized;
};

/// What a run knows of its users: a vector for each, of the same clients in all runs of a report with the same data.
struct embedding_figures {
  /// What tells data apart: all options of the scenario's [data], its source and how many clients it has.
  option_values data;
  std::string what;                      ///< names of the tensors
  std::size_t width = 1;                 ///< numbers a client
  std::vector<std::uint32_t> clients;    ///< ascending
  std::vector<float> values;             ///< client by client
  std::vector<float> labels;             ///< a client each: its commonest class, or its mean label; empty: none has one
  bool classes = false;                  ///< labels are classes
  std::vector<std::string> class_names;  ///< by number, or empty
};

/// The first thing in which two runs' data differ, such as "split_seed"; empty where they are the same. In other data a
/// client of the same number is another one.
[[nodiscard]] std::string data_difference(const option_values& a, const option_values& b);

/// A run. Without a summary it was interrupted, or is still going on.
struct run_record {
  std::filesystem::path directory;
  std::string name;       ///< of the scenario; the folder's when nothing says it
  std::string algorithm;  ///< may be empty, as may the next two
  std::string model;
  std::string seed;
  std::string protocol;  ///< of the model's batches, where it has a choice
  std::optional<run_summary> summary;
  std::vector<round_figures> rounds;            ///< ascending
  std::vector<event_kind> events;               ///< in order of their first line
  std::string scenario;                         ///< the resolved scenario's text
  std::optional<double> deadline;               ///< of its rounds, virtual seconds after their begin
  std::optional<embedding_figures> embeddings;  ///< private values: only where they were asked for
  std::vector<std::string> notes;               ///< what was missing or left out, for people
};

/// What its times are called: those of a federation of processes are not virtual, though the keys are the same.
[[nodiscard]] inline std::string_view time_word(const run_record& run) {
  return run.summary && run.summary->clock == "real" ? "time" : "virtual time";
}
[[nodiscard]] inline std::string_view time_word(std::span<const run_record> runs) {
  for (const auto& run : runs)
    if (time_word(run) == "time") return "time";
  return "virtual time";
}

/// Whether it ran to its end and came to nothing.
[[nodiscard]] inline bool has_failed(const run_record& run) { return run.summary && !run.summary->failed.empty(); }

}  // namespace furlong::tools
