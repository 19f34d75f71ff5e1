#include "tools/report/detail/comparison.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "tools/cli/failure.hpp"

namespace furlong::tools {

namespace {

bool all_are_no_language_models(std::span<const run_record> runs) {
  return std::all_of(runs.begin(), runs.end(), is_no_language_model);
}

// Both a summary and a round have these counts: a run has the same figures with its summary and without. A task that
// dropped out was sent a model and sent nothing back; all other ends, the run's own apart, are those of a report.
template <class Counts>
void add_traffic(traffic& to, const Counts& of, std::uint64_t rejected) {
  to.up += static_cast<double>(of.bytes_up);
  to.down += static_cast<double>(of.bytes_down);
  to.tasks += of.selected;
  to.reports += of.folded + rejected + of.late + of.surplus + of.abandoned;
}

std::optional<double> share_of(double bytes, std::uint64_t parts) {
  return parts > 0 ? std::optional(bytes / static_cast<double>(parts)) : std::nullopt;
}

bool all_different(const std::vector<std::string>& labels) {
  return std::set<std::string>(labels.begin(), labels.end()).size() == labels.size();
}

}  // namespace

bool is_redundant(const metric& which, const group_figures& in) {
  return which.value == &group_figures::loss && (in.rmse || in.perplexity);
}

std::optional<evaluation_figures> final_evaluation(const run_record& run) {
  if (run.summary && run.summary->eval) return run.summary->eval;
  const auto last =
      std::find_if(run.rounds.rbegin(), run.rounds.rend(), [](const auto& round) { return round.eval.has_value(); });
  return last == run.rounds.rend() ? std::nullopt : last->eval;
}

std::string explained_figures(std::span<const run_record> runs) {
  const auto occurs = [&](const auto& is) {
    return std::any_of(runs.begin(), runs.end(), [&](const run_record& run) {
      const auto eval = final_evaluation(run);
      return eval && is(*eval);
    });
  };
  const auto has_group = [&](std::size_t group) {
    return occurs([&](const evaluation_figures& eval) { return eval[group].has_value(); });
  };
  const auto has_figure = [&](std::optional<double> group_figures::*which) {
    return occurs([&](const evaluation_figures& eval) {
      return std::any_of(eval.begin(), eval.end(), [&](const auto& group) { return group && *group.*which; });
    });
  };
  std::string out;
  const auto say = [&](bool applies, const char* sentence) {
    if (applies) out += (out.empty() ? "" : " ") + std::string(sentence);
  };
  say(has_group(0), "Validation: kept apart for choosing settings.");
  say(has_group(1), "Seen: clients that may train, on examples of theirs kept for the test.");
  say(has_group(2), "Unseen: clients never asked to train.");
  say(has_figure(&group_figures::perplexity),
      "Perplexity: exp of the mean loss per predicted token; only comparable with the same vocabulary.");
  say(has_figure(&group_figures::accuracy_words),
      "Accuracy of words: without the tokens that are unknown or end a sentence; before the end: with the unknown "
      "ones.");
  return out;
}

bool is_no_language_model(const run_record& run) { return run.protocol == "fedatt-2018"; }

std::string protocol_warning(std::span<const run_record> runs) {
  if (std::none_of(runs.begin(), runs.end(), is_no_language_model)) return {};
  const std::string what =
      "Protocol fedatt-2018: what is called perplexity is not that of a language model, and is for comparison with the "
      "tables of FedAtt's paper only.";
  if (all_are_no_language_models(runs)) return what;
  return what + " Runs of this protocol cannot be compared with the others, and are never marked as best among them.";
}

std::uint64_t rounds_of(const run_record& run) {
  if (run.summary) return run.summary->rounds;
  return run.rounds.empty() ? 0 : run.rounds.back().round;
}

traffic traffic_of(const run_record& run) {
  traffic sum;
  if (run.summary) {
    add_traffic(sum, *run.summary, sum_of(run.summary->rejected));
  } else {
    for (const auto& round : run.rounds) add_traffic(sum, round, round.rejected);
  }
  return sum;
}

std::optional<double> traffic::down_per_task() const { return share_of(down, tasks); }
std::optional<double> traffic::up_per_report() const { return share_of(up, reports); }

std::uint64_t wasted_tasks(const run_summary& of) {
  return sum_of(of.rejected) + of.late + of.surplus + sum_of(of.dropped) + of.abandoned;
}

namespace {

std::vector<std::string> plain_labels(std::span<const run_record> runs) {
  const auto is_one = [&](const auto& part) {
    return std::all_of(runs.begin(), runs.end(), [&](const auto& run) { return part(run) == part(runs.front()); });
  };
  const std::array<std::function<std::string(const run_record&)>, 4> parts{
      [](const run_record& run) { return run.name; }, [](const run_record& run) { return run.algorithm; },
      [](const run_record& run) { return run.seed.empty() ? std::string() : "seed " + run.seed; },
      [](const run_record& run) { return run.directory.filename().string(); }};
  std::vector<std::string> labels(runs.size());
  for (const auto& part : parts) {
    if (all_different(labels) && !labels.front().empty()) return labels;
    if (runs.size() > 1 && is_one(part)) continue;  // tells nothing apart
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto more = part(runs[i]);
      labels[i] += (labels[i].empty() || more.empty() ? "" : ", ") + more;
    }
  }
  if (!all_different(labels))  // the same run twice
    for (std::size_t i = 0; i < runs.size(); ++i)
      labels[i] = (labels[i].empty() ? runs[i].name : labels[i]) + " #" + std::to_string(i + 1);
  return labels;
}

}  // namespace

std::vector<std::string> labels_of(std::span<const run_record> runs) {
  auto labels = plain_labels(runs);
  if (!all_are_no_language_models(runs))
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (is_no_language_model(runs[i])) labels[i] += " (" + runs[i].protocol + ")";
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (has_failed(runs[i])) labels[i].append(" (").append(failure_word(runs[i].summary->failed)).append(")");
  return labels;
}

}  // namespace furlong::tools
