// Figures that configurations are compared by.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tools/compare/comparison.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/runs/ranking_names.hpp"

namespace furlong::tools {

namespace {

using figure_list = std::vector<compared_figure>;

compared_figure of_summary(const std::string& key, std::string group, std::string title,
                           number_style style = number_style::plain, better when = better::neither) {
  return {key, std::move(group), std::move(title), style, when, [key](const run_record& run) {
            return summary_of(run).figure(key);
          }};
}

constexpr const char* characters = "bits_per_character";
constexpr const char* standard_errors = "standard_errors.";  ///< of a run; comparisons have those over seeds

bool is_built_in(const std::string& name) {
  return name.starts_with(standard_errors) || name == "examples" || name == "clients" || name == "unscored" ||
         name == characters || name == "characters" || name == "unknown_tokens" ||
         std::ranges::any_of(metrics, [&](const auto& metric) { return metric.key == name; });
}

// Those that the model defines: their names are keys of the evaluation, and the summary states their direction.
void add_own_metrics(figure_list& list, std::span<const run_record> runs, const std::string& group) {
  const auto begin = "eval." + group + ".";
  std::set<std::string> known;
  for (const auto& run : runs) {
    if (!run.summary) continue;
    for (auto position = run.summary->figures.lower_bound(begin);
         position != run.summary->figures.end() && position->first.starts_with(begin); ++position) {
      const std::string name(position->first.substr(begin.size()));
      if (is_built_in(name) || !known.insert(name).second) continue;
      const auto stated = run.summary->figure("smaller_is_better." + name);
      const auto when = !stated ? better::neither : *stated == 1.0 ? better::smaller : better::larger;
      list.push_back(of_summary(std::string(position->first), group, name, number_style::plain, when));
    }
  }
}

// "full_ndcg_10" of "eval.seen.full_ndcg_10".
std::string name_of(const compared_figure& figure) { return figure.key.substr(figure.key.rfind('.') + 1); }

// What is 0 is no merit: a run that sends nothing has all data in one place.
std::optional<double> unless_zero(std::optional<double> bytes) { return bytes == 0.0 ? std::nullopt : bytes; }

std::optional<double> virtual_seconds_of(const run_record& run) {
  const auto seconds = summary_of(run).figure("virtual_seconds");
  return seconds && *seconds > 0.0 ? seconds : std::nullopt;  // the clock moved at all
}

std::optional<double> time_to_target_of(const run_record& run) {
  const auto reached = summary_of(run).figure("time_to_target.reached");
  if (reached == 0.0) return std::numeric_limits<double>::infinity();
  return reached && virtual_seconds_of(run) ? summary_of(run).figure("time_to_target.virtual_seconds") : std::nullopt;
}

void add_costs(figure_list& list, std::span<const run_record> runs) {
  const std::string clock(time_word(runs));
  list.push_back({"time_to_target.virtual_seconds", clock, "to target", number_style::seconds, better::smaller,
                  time_to_target_of});
  list.push_back({"virtual_seconds", clock, "total", number_style::seconds, better::neither, virtual_seconds_of});
  list.push_back(of_summary("wasted.share", "tasks", "wasted", number_style::percent, better::smaller));
  list.push_back(of_summary("participation.gini", "participation", "Gini", number_style::plain, better::smaller));
  list.push_back(
      of_summary("participation.never_folded", "participation", "never trained", number_style::mean, better::smaller));
  list.push_back({"bytes_up/report", "data per report", "up", number_style::bytes, better::smaller,
                  [](const run_record& run) { return unless_zero(traffic_of(run).up_per_report()); }});
  list.push_back({"bytes_down/task", "data per task", "down", number_style::bytes, better::smaller,
                  [](const run_record& run) { return unless_zero(traffic_of(run).down_per_task()); }});
  list.push_back(of_summary("clients_per_second", "clients", "per s", number_style::rate, better::larger));
  list.push_back(of_summary("private_clients", "clients", "private", number_style::mean));
}

}  // namespace

std::vector<compared_figure> quality_figures(std::span<const run_record> runs) {
  figure_list list;
  for (std::size_t group = 0; group < evaluation_groups.size(); ++group) {
    const std::string name(evaluation_groups[group]);
    for (const auto& which : metrics)
      list.push_back(of_summary(group_key(group) + which.key, name, which.short_title, which.style,
                                which.smaller_is_better ? better::smaller : better::larger));
    list.push_back(of_summary(group_key(group) + characters, name, "bits/char.", number_style::plain, better::smaller));
    add_own_metrics(list, runs, name);
  }
  return list;
}

std::vector<compared_figure> table_figures(std::span<const run_record> runs) {
  figure_list list{of_summary("rounds", "", "rounds", number_style::mean)};
  auto quality = quality_figures(runs);
  std::vector<std::string> names;
  for (const auto& figure : quality) names.push_back(name_of(figure));
  const auto places = shown_places(names);
  for (auto& figure : quality) {
    if (const auto name = name_of(figure); places && is_of_ranking(name) && !is_shown(name, *places)) continue;
    if (figure.key.ends_with(".loss"))
      figure.value = [before = figure.key.substr(0, figure.key.rfind('.') + 1)](const run_record& run) {
        return score(summary_of(run), before, metrics.back());
      };
    list.push_back(std::move(figure));
  }
  add_costs(list, runs);
  return list;
}

std::vector<compared_figure> by_client_group(std::span<const run_record> runs,
                                             const std::vector<compared_figure>& figures) {
  std::set<std::string> names;
  for (const auto& run : runs)
    for (auto& name : client_groups_of(run)) names.insert(std::move(name));
  figure_list list;
  for (const auto& figure : figures)
    for (const auto& name : names)
      list.push_back(
          of_summary(std::string(groups_key) + name + "." + figure.key, name, figure.title, figure.style, figure.when));
  return list;
}

compared_figure figure_named(const std::string& key, std::span<const run_record> runs) {
  for (auto& list : {quality_figures(runs), table_figures(runs)})
    for (const auto& figure : list)
      if (figure.key == key) return figure;
  return of_summary(key, "", key);
}

}  // namespace furlong::tools
