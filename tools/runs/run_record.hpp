// What a run directory says about a run, as the report needs it.
#pragma once

#include <array>
#include <boost/container/flat_map.hpp>
#include <cmath>
#include <concepts>
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

/// The groups of an evaluation, in the order they are shown, by the names the files use.
inline constexpr std::array<std::string_view, 4> evaluation_groups{"validation", "seen", "unseen", "train"};

/// Stands before the figures by groups of clients: "client_groups.north.eval.unseen.rmse".
inline constexpr std::string_view groups_key = "client_groups.";

/// Counts by reason or stage.
using named_counts = std::vector<std::pair<std::string, std::uint64_t>>;

/// The name of a figure. Equal ones share one text for good: runs have millions of figures and some hundred names.
class figure_key : public std::string_view {
 public:
  template <std::convertible_to<std::string_view> Text>
  figure_key(const Text& text) : std::string_view(shared(text)) {}  // NOLINT(google-explicit-constructor)

 private:
  [[nodiscard]] static std::string_view shared(std::string_view text);
};

/// The numbers of a JSON object by dotted key, such as "eval.unseen.rmse", without those in lists. True is 1, and null,
/// as after a divergence, NaN.
struct figure_set {
  boost::container::flat_map<figure_key, double, std::less<>> figures;

  [[nodiscard]] std::optional<double> figure(std::string_view key) const {
    const auto found = figures.find(key);
    return found == figures.end() ? std::nullopt : std::optional(found->second);
  }
  /// 0 without it.
  [[nodiscard]] std::uint64_t count(std::string_view key) const {
    const auto value = figure(key);
    return value && std::isfinite(*value) ? static_cast<std::uint64_t>(*value) : 0;
  }
  /// Those whose keys begin with `before`, by the rest of the key.
  [[nodiscard]] named_counts counts_in(std::string_view before) const {
    named_counts found;
    for (auto position = figures.lower_bound(before); position != figures.end() && position->first.starts_with(before);
         ++position)
      found.emplace_back(position->first.substr(before.size()), count(position->first));
    return found;
  }
  [[nodiscard]] bool has_any(std::string_view before) const {
    const auto found = figures.lower_bound(before);
    return found != figures.end() && found->first.starts_with(before);
  }
};

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
struct round_figures : figure_set {
  std::uint64_t round = 0;
  std::vector<task_figures> spans;           ///< few rounds have them
  std::vector<attention_figures> attention;  ///< by tensor; runs that report it

  /// False: nothing usable was folded, and loss and change_norm say nothing.
  [[nodiscard]] bool applied() const { return figure("applied") != 0.0; }
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

/// summary.json.
struct run_summary : figure_set {
  std::map<std::string, std::string, std::less<>> texts;  ///< by dotted key
  std::vector<figure_set> by_participation;               ///< seen clients that took part "least" to "most" times
  std::vector<figure_set> by_activity;                    ///< those with "least" to "most" train examples

  /// Empty without it.
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
  }
};

/// What a run knows of its users: a vector for each, of the same clients in all runs of a report with the same data.
struct embedding_figures {
  /// What identifies data: all options of the scenario's [data], its source and how many clients it has.
  option_values data;
  std::string tensors;                   ///< names of the tensors
  std::size_t width = 1;                 ///< numbers a client
  std::vector<std::uint32_t> clients;    ///< ascending
  std::vector<float> values;             ///< client by client
  std::vector<float> labels;             ///< a client each: its commonest class, or its mean label; empty: none has one
  bool classes = false;                  ///< labels are classes
  std::vector<std::string> class_names;  ///< by number, or empty
};

/// A client of a run; what does not apply is empty.
struct client_figures {
  std::uint32_t client = 0;
  std::size_t group = 1;                       ///< in evaluation_groups
  std::optional<double> updates;               ///< of its tasks that are in the model
  std::optional<double> loss, rmse, accuracy;  ///< of its scored examples, with the final model
  std::optional<double> speed;                 ///< of its device, examples per second
  std::optional<double> taste;                 ///< how far its labels are above those of others, in standard deviations
  std::optional<double> own;                   ///< the first of the model's own metrics, other than accuracy and rmse
};

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
  std::vector<std::uint64_t> staleness;         ///< folded updates of all rounds by staleness: 0, 1, 2, ... versions
  std::vector<event_kind> events;               ///< in order of their first line
  std::string scenario;                         ///< the resolved scenario's text
  std::optional<double> deadline;               ///< of its rounds, virtual seconds after their begin
  std::optional<embedding_figures> embeddings;  ///< private values: only where they were asked for
  std::vector<client_figures> clients;          ///< ascending: only where they were asked for
  std::string own_metric;                       ///< the name of client_figures::own; empty: there is none
  bool own_smaller_is_better = false;
  std::vector<std::string> notes;  ///< what was missing or left out, for people
};

/// Its summary; an empty one where it has none.
[[nodiscard]] inline const run_summary& summary_of(const run_record& run) {
  static const run_summary none;
  return run.summary ? *run.summary : none;
}

/// What its times are called: those of a federation of processes are not virtual, though the keys are the same.
[[nodiscard]] inline std::string_view time_word(const run_record& run) {
  return summary_of(run).text("clock") == "real" ? "time" : "virtual time";
}
[[nodiscard]] inline std::string_view time_word(std::span<const run_record> runs) {
  for (const auto& run : runs)
    if (time_word(run) == "time") return "time";
  return "virtual time";
}

/// Why it ran to its end and came to nothing; empty: it did not.
[[nodiscard]] inline std::string failure_of(const run_record& run) { return summary_of(run).text("failed"); }
[[nodiscard]] inline bool has_failed(const run_record& run) { return !failure_of(run).empty(); }
/// Whether the run ended, and not without a usable result.
[[nodiscard]] inline bool counts(const run_record& run) { return run.summary && !has_failed(run); }
/// Prefix of "failed" in summary.json of a diverged run.
inline constexpr std::string_view divergence_text = "training diverged";
/// "diverged" or "failed", by the reason of a run.
[[nodiscard]] constexpr std::string_view failure_word(std::string_view reason) {
  return reason.starts_with(divergence_text) ? "diverged" : "failed";
}
/// Of runs that send nothing: the model has nothing of single clients.
[[nodiscard]] inline bool is_impersonal(const run_record& run) { return summary_of(run).figure("personalized") == 0.0; }

}  // namespace furlong::tools
