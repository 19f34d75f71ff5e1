#include "tools/report/detail/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tools/cli/failure.hpp"

namespace furlong::tools {

namespace {

// Which value of a column is best.
enum class better : std::uint8_t { smaller, larger, neither };

using figure = std::function<std::optional<double>(const run_record&)>;
using writer = std::function<std::string(std::optional<double>)>;

// Whether a run's figure competes with the others for the best one.
using entrant = std::function<bool(const run_record&)>;
bool everybody(const run_record& /*run*/) { return true; }

void add_column(std::vector<comparison_column>& to, std::span<const run_record> runs, std::string group,
                std::string title, const figure& value, const writer& text, better when,
                const entrant& competes = everybody) {
  comparison_column column{std::move(group), std::move(title), {}, {}};
  std::optional<double> best;
  bool any = false;
  std::size_t figures = 0;
  for (const auto& run : runs) {
    const auto found = value(run);
    column.cells.push_back(text(found));
    any = any || found;
    if (!found || !competes(run)) continue;
    ++figures;
    if (!std::isnan(*found) && when != better::neither &&
        (!best || (when == better::smaller ? *found < *best : *found > *best)))
      best = found;
  }
  if (!any) return;
  // Equal as written is equally good; where all are, or none else has a figure, none is best.
  const auto best_text = best ? text(best) : std::string();
  std::size_t winners = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool wins = best && figures > 1 && column.cells[i] == best_text && competes(runs[i]);
    column.best.push_back(wins);
    winners += wins ? 1 : 0;
  }
  if (winners == figures) column.best.assign(column.best.size(), false);
  to.push_back(std::move(column));
}

bool all_are_no_language_models(std::span<const run_record> runs) {
  return std::all_of(runs.begin(), runs.end(), is_no_language_model);
}

void add_metrics(std::vector<comparison_column>& to, std::span<const run_record> runs) {
  const bool alike = all_are_no_language_models(runs);
  const auto competes = [&](const run_record& run) { return alike || !is_no_language_model(run); };
  for (std::size_t group = 0; group < evaluation_groups.size(); ++group)
    for (const auto& which : metrics) {
      const auto value = [&](const run_record& run) -> std::optional<double> {
        const auto found = final_evaluation(run);
        if (!found || !(*found)[group] || is_redundant(which, *(*found)[group])) return std::nullopt;
        return *(*found)[group].*which.value;
      };
      const auto text = [&](std::optional<double> v) { return written(v, which.style); };
      add_column(to, runs, std::string(evaluation_groups[group]), which.short_title, value, text,
                 which.smaller_is_better ? better::smaller : better::larger, competes);
    }
}

std::optional<double> from_summary(const run_record& run, std::optional<double> run_summary::*member) {
  return run.summary ? (*run.summary).*member : std::nullopt;
}

// Virtual seconds, where the clock moved at all.
std::optional<double> virtual_seconds_of(const run_record& run) {
  const auto seconds = from_summary(run, &run_summary::virtual_seconds);
  return seconds && *seconds > 0.0 ? seconds : std::nullopt;
}

// Infinite where the target was not reached; of a run under the real clock nothing.
std::optional<double> time_to_target_of(const run_record& run) {
  if (!run.summary || !run.summary->time_to_target) return std::nullopt;
  const auto& target = *run.summary->time_to_target;
  if (!virtual_seconds_of(run)) return std::nullopt;
  return target.reached ? target.virtual_seconds : std::numeric_limits<double>::infinity();
}

std::optional<participation_figures> participation_of(const run_record& run) {
  return run.summary ? run.summary->participation : std::nullopt;
}

void add_time_and_fairness(std::vector<comparison_column>& to, std::span<const run_record> runs) {
  const auto time = [](std::optional<double> v) { return written(v, number_style::seconds); };
  const auto share = [](std::optional<double> v) { return v ? fixed(*v * 100.0, 1) + " %" : written(v, {}); };
  const auto gini = [](std::optional<double> v) { return v ? fixed(*v, 3) : written(v, {}); };
  const auto count = [](std::optional<double> v) { return written(v, number_style::count); };
  const auto reached = [&](std::optional<double> v) { return v && std::isinf(*v) ? "not reached" : time(v); };
  const std::string clock(time_word(runs));
  add_column(to, runs, clock, "to target", time_to_target_of, reached, better::smaller);
  add_column(to, runs, clock, "in all", virtual_seconds_of, time, better::neither);
  add_column(
      to, runs, "tasks", "wasted", [](const auto& run) { return from_summary(run, &run_summary::wasted_share); }, share,
      better::smaller);
  add_column(
      to, runs, "participation", "Gini",
      [](const auto& run) { return participation_of(run).value_or(participation_figures{}).gini; }, gini,
      better::smaller);
  add_column(
      to, runs, "participation", "never trained",
      [](const auto& run) -> std::optional<double> {
        const auto never = participation_of(run).value_or(participation_figures{}).never_folded;
        return never ? std::optional(static_cast<double>(*never)) : std::nullopt;
      },
      count, better::smaller);
}

// A run that sends nothing (all data in one place): that is no merit.
std::optional<double> unless_zero(std::optional<double> bytes) { return bytes == 0.0 ? std::nullopt : bytes; }

std::string megabytes(std::optional<double> bytes) {
  if (!bytes) return written(bytes, number_style::plain);
  const double mb = *bytes / 1e6;
  return fixed(mb, mb < 0.1 ? 4 : mb < 10 ? 3 : 1);
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

std::vector<comparison_column> compare(std::span<const run_record> runs) {
  std::vector<comparison_column> columns;
  const auto count = [](std::optional<double> v) { return written(v, number_style::count); };
  add_column(
      columns, runs, "", "rounds", [](const auto& run) { return static_cast<double>(rounds_of(run)); }, count,
      better::neither);
  add_metrics(columns, runs);
  add_time_and_fairness(columns, runs);
  add_column(
      columns, runs, "MB per report", "up",
      [](const auto& run) { return unless_zero(traffic_of(run).up_per_report()); }, megabytes, better::smaller);
  add_column(
      columns, runs, "MB per task", "down",
      [](const auto& run) { return unless_zero(traffic_of(run).down_per_task()); }, megabytes, better::smaller);
  add_column(
      columns, runs, "clients", "per s",
      [](const auto& run) { return from_summary(run, &run_summary::clients_per_second); },
      [](std::optional<double> v) { return written(v, number_style::rate); }, better::larger);
  add_column(
      columns, runs, "clients", "private",
      [](const auto& run) -> std::optional<double> {
        if (!run.summary || !run.summary->private_clients) return std::nullopt;
        return static_cast<double>(*run.summary->private_clients);
      },
      count, better::neither);
  return columns;
}

}  // namespace furlong::tools
