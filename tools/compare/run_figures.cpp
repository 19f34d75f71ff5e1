#include "tools/compare/run_figures.hpp"

#include <algorithm>

namespace furlong::tools {

namespace {

bool all_are_no_language_models(std::span<const run_record> runs) {
  return std::ranges::all_of(runs, is_no_language_model);
}

// Both a summary and a round have these counts: a run has the same figures with its summary and without. A task that
// dropped out was sent a model and sent nothing back; all other ends, the run's own apart, are those of a report.
void add_traffic(traffic& total, const figure_set& figures) {
  total.up += static_cast<double>(figures.count("bytes_up"));
  total.down += static_cast<double>(figures.count("bytes_down"));
  total.tasks += figures.count("selected");
  for (const auto* outcome : {"folded", "rejected", "late", "surplus", "abandoned"})
    total.reports += tasks_with(figures, outcome);
}

std::optional<double> share_of(double bytes, std::uint64_t parts) {
  return parts > 0 ? std::optional(bytes / static_cast<double>(parts)) : std::nullopt;
}

}  // namespace

std::string group_key(std::size_t group) { return "eval." + std::string(evaluation_groups[group]) + "."; }

std::optional<double> score(const figure_set& figures, const std::string& before, const metric& which) {
  if (&which == &metrics.back() && (figures.figure(before + "rmse") || figures.figure(before + "perplexity")))
    return std::nullopt;
  return figures.figure(before + which.key);
}

const figure_set* final_evaluation(const run_record& run) {
  if (run.summary && run.summary->has_any("eval.")) return &*run.summary;
  const auto last =
      std::find_if(run.rounds.rbegin(), run.rounds.rend(), [](const auto& round) { return round.has_any("eval."); });
  return last == run.rounds.rend() ? nullptr : &*last;
}

std::string explained_figures(std::span<const run_record> runs) {
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(runs, [&](const run_record& run) {
      const auto* eval = final_evaluation(run);
      return eval != nullptr && holds(*eval);
    });
  };
  const auto has_group = [&](std::size_t group) {
    return any([&](const figure_set& eval) { return eval.has_any(group_key(group)); });
  };
  const auto has_figure = [&](const char* key) {
    return any([&](const figure_set& eval) {
      return std::ranges::any_of(std::array{0U, 1U, 2U, 3U},
                                 [&](auto group) { return eval.figure(group_key(group) + key).has_value(); });
    });
  };
  const auto say = [](bool applies, const char* sentence) { return std::string(applies ? sentence : ""); };
  return joined(
      {say(has_group(0), "Validation: kept apart for choosing settings."),
       say(has_group(1), "Seen: clients that may train, on examples of theirs kept for the test."),
       say(has_group(2), "Unseen: clients never asked to train."),
       say(has_group(3), "Train: clients that may train, on the examples that they train on."),
       say(has_figure("perplexity"),
           "Perplexity: exp of the mean loss per predicted token; only comparable with the same vocabulary."),
       say(has_figure("full_mrr"),
           "MRR: 1 / rank of a held-out item among all items that the client does not know, a mean over clients."),
       say(has_figure("sampled_mrr"),
           "MRR of drawn candidates: among a few items drawn for each client, which can order models otherwise."),
       say(has_figure("attack_success"),
           "Success of the attack: of honest clients\u2019 examples with the trigger, those answered as it wants; of "
           "promoted items, those among the first 10 of honest clients."),
       say(has_figure("accuracy_words"),
           "Accuracy of words: without the tokens that are unknown or end a sentence; before the end: with the unknown "
           "ones.")});
}

bool is_no_language_model(const run_record& run) { return run.protocol == "fedatt-2018"; }

std::string protocol_warning(std::span<const run_record> runs) {
  if (std::ranges::none_of(runs, is_no_language_model)) return {};
  const std::string warning =
      "Protocol fedatt-2018: what is called perplexity is not that of a language model, and is for comparison with the "
      "tables of FedAtt's paper only.";
  if (all_are_no_language_models(runs)) return warning;
  return warning +
         " Runs of this protocol cannot be compared with the others, and are never marked as best among them.";
}

std::string data_difference(const option_values& a, const option_values& b) {
  const auto differs = [&](const std::string& key) {
    return a.has(key) != b.has(key) || (a.has(key) && a.all().at(key) != b.all().at(key));
  };
  std::vector<std::string> keys{"source"};  // another source has other options: that says it all
  for (const auto* options : {&a, &b})
    for (const auto& [key, value] : options->all()) keys.push_back(key);
  const auto first = std::ranges::find_if(keys, differs);
  return first == keys.end() ? "" : *first;
}

std::vector<std::string> client_groups_of(const run_record& run) {
  constexpr std::string_view suffix = ".clients";
  std::vector<std::string> names;
  const auto& figures = summary_of(run).figures;
  for (auto position = figures.lower_bound(groups_key);
       position != figures.end() && position->first.starts_with(groups_key); ++position)
    if (const std::string_view key = position->first;
        key.ends_with(suffix) && key.find(".eval.") == std::string_view::npos)
      names.emplace_back(key.substr(groups_key.size(), key.size() - groups_key.size() - suffix.size()));
  return names;
}

std::uint64_t rounds_of(const run_record& run) {
  if (run.summary) return run.summary->count("rounds");
  return run.rounds.empty() ? 0 : run.rounds.back().round;
}

traffic traffic_of(const run_record& run) {
  traffic sum;
  if (run.summary) {
    add_traffic(sum, *run.summary);
  } else {
    for (const auto& round : run.rounds) add_traffic(sum, round);
  }
  return sum;
}

std::optional<double> traffic::down_per_task() const { return share_of(down, tasks); }
std::optional<double> traffic::up_per_report() const { return share_of(up, reports); }

std::uint64_t tasks_with(const figure_set& figures, const std::string& outcome) {
  return figures.count(outcome) + sum_of(figures.counts_in(outcome + "."));
}

std::uint64_t wasted_tasks(const run_summary& summary) {
  std::uint64_t sum = 0;
  for (const auto* outcome : {"rejected", "late", "surplus", "dropped", "abandoned"})
    sum += tasks_with(summary, outcome);
  return sum;
}

std::vector<std::string> labels_of(std::span<const run_record> runs, std::span<const configuration> configurations) {
  std::vector<std::string> labels(runs.size());
  const bool seeds = configurations.size() < runs.size();
  for (const auto& setup : configurations)
    for (const auto* list : {&setup.runs, &setup.failed})
      for (const auto i : *list)
        labels[i] = setup.label + (seeds && !runs[i].seed.empty() ? ", seed " + runs[i].seed : "");
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (std::ranges::count(labels, labels[i]) > 1) labels[i].append(", ").append(runs[i].directory.filename().string());
  return labels;
}

}  // namespace furlong::tools
