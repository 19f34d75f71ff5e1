// The charts of clients: how quality is distributed over them, who gains and who loses, who takes part.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/runs/scenario_settings.hpp"

namespace furlong::tools {

namespace {

using client_figure = std::optional<double> client_figures::*;

struct client_metric {
  std::string title;
  client_figure value;
  number_style style;
  bool smaller_is_better;
};

// The first that clients have; of language models the loss, whose exponential is the perplexity. Only a metric that all
// runs have in common is that of a class.
std::optional<client_metric> metric_for(std::span<const run_record> runs) {
  std::vector<client_metric> metrics = {{"RMSE", &client_figures::rmse, number_style::plain, true},
                                        {"Accuracy", &client_figures::accuracy, number_style::accuracy, false}};
  const auto& own = runs.front();
  if (std::ranges::all_of(runs, [&](const run_record& run) { return run.own_metric == own.own_metric; }))
    metrics.push_back({own.own_metric, &client_figures::own, number_style::plain, own.own_smaller_is_better});
  metrics.push_back({"Loss", &client_figures::loss, number_style::plain, true});
  const bool words = std::ranges::any_of(runs, [](const run_record& run) {
    return summary_of(run).figure("eval.seen.perplexity") || summary_of(run).figure("eval.unseen.perplexity");
  });
  const auto fits = [&](const client_metric& which) {
    const auto has = [&](const client_figures& row) { return (row.*which.value).has_value(); };
    return !(words && which.value == &client_figures::accuracy) &&
           std::ranges::any_of(runs, [&](const run_record& run) { return std::ranges::any_of(run.clients, has); });
  };
  const auto first = std::ranges::find_if(metrics, fits);
  return first == metrics.end() ? std::nullopt : std::optional(*first);
}

// The values of the clients of a group, which may be infinite.
std::map<std::uint32_t, double> values_of(const run_record& run, client_figure which, std::size_t group) {
  std::map<std::uint32_t, double> values;
  for (const auto& row : run.clients)
    if (const auto value = row.*which; value && row.group == group) values[row.client] = *value;
  return values;
}

// The finite values of a configuration's clients in all its runs, ascending.
std::vector<double> levels_of(const reported_runs& runs, const configuration& setup, client_figure which,
                              std::size_t group) {
  std::vector<double> levels;
  for (const auto i : setup.runs)
    for (const auto& [client, value] : values_of(runs.runs[i], which, group))
      if (std::isfinite(value)) levels.push_back(value);
  std::ranges::sort(levels);
  return levels;
}

// A client of the same number is the same one in runs with the same data.
std::string data_text(const run_record& run) {
  std::string text = run.seed;
  for (const auto& [key, value] : scenario_settings(run.scenario))
    if (key.starts_with("data.")) text.append("\n").append(key).append("=").append(value);
  return text;
}

// How much better each client is in `setup` than in `baseline`, ascending: in runs with the same seed and data.
std::vector<double> gains_of(std::span<const run_record> runs, const configuration& baseline,
                             const configuration& setup, const client_metric& which, std::size_t group) {
  std::vector<double> gains;
  for (const auto i : setup.runs)
    for (const auto j : baseline.runs) {
      if (data_text(runs[i]) != data_text(runs[j])) continue;
      const auto before = values_of(runs[j], which.value, group);
      for (const auto& [client, value] : values_of(runs[i], which.value, group)) {
        const auto position = before.find(client);
        const double gain = position == before.end() ? NAN : value - position->second;
        if (std::isfinite(gain)) gains.push_back(which.smaller_is_better ? -gain : gain);
      }
    }
  std::ranges::sort(gains);
  return gains;
}

double quantile(const std::vector<double>& ascending, double share) {
  const double position = share * static_cast<double>(ascending.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const auto high = std::min(low + 1, ascending.size() - 1);
  return std::lerp(ascending[low], ascending[high], position - static_cast<double>(low));
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The mean over the worst tenth.
double worst_tenth(const std::vector<double>& ascending, bool smaller_is_better) {
  const auto count = (ascending.size() + 9) / 10;
  const std::span<const double> values(ascending);
  return mean_of(smaller_is_better ? values.last(count) : values.first(count));
}

page_json quantile_chart(const reported_runs& report, std::string title, std::string_view x, number_style style) {
  auto made = new_chart("quantiles", std::move(title), x, style);
  made["shared"] = report.configurations.size() > 1;
  return made;
}

void add_quantiles(page_json& chart, const std::string& name, std::size_t colour, const std::vector<double>& ascending,
                   number_style style) {
  constexpr int parts = 100;
  auto& made = add_series(chart, name, colour, "median " + written(quantile(ascending, 0.5), style));
  for (int i = 0; i <= parts; ++i) {
    made["x"].push_back(brief(static_cast<double>(i) / parts));
    made["y"].push_back(brief(quantile(ascending, static_cast<double>(i) / parts)));
  }
}

// A group of clients: its charts, and a row of the table for each configuration.
void add_group(page_json& target, const reported_runs& report, const client_metric& which, std::size_t number) {
  const bool several = report.configurations.size() > 1;
  const std::string group(evaluation_groups[number]);
  const auto title = which.title + (" of " + group) + " clients";
  auto levels = quantile_chart(report, title, "share of the clients", which.style);
  auto gains = quantile_chart(report, "Better than " + report.names[0] + ": " + title,
                              "share of the clients, from the largest loss to the largest gain", which.style);
  levels["zero"] = true;
  gains.update({{"rule", 0.0}, {"line", "no difference"}});
  const auto cell = [&](double value) -> page_json {
    return {{"text", written(value, which.style)}, {"value", brief(value)}};
  };
  for (std::size_t i = 0; i < report.configurations.size(); ++i) {
    const auto values = levels_of(report, report.configurations[i], which.value, number);
    if (values.size() < 2) continue;
    add_quantiles(levels, report.names[i], i, values, which.style);
    auto cells = several ? page_json{report.names[i], group} : page_json{group};
    cells.insert(cells.end(), {grouped(values.size()), cell(mean_of(values))});
    for (const double share : {0.1, 0.5, 0.9}) cells.push_back(cell(quantile(values, share)));
    cells.push_back(cell(worst_tenth(values, which.smaller_is_better)));
    const auto gained = i == 0
                            ? std::vector<double>()
                            : gains_of(report.runs, report.configurations[0], report.configurations[i], which, number);
    if (gained.size() >= 2) {
      add_quantiles(gains, report.names[i], i, gained, which.style);
      const auto share = [&](auto is) {
        const auto count = static_cast<double>(std::ranges::count_if(gained, is));
        return written(count / static_cast<double>(gained.size()), number_style::percent);
      };
      cells.insert(cells.end(),
                   {share([](double gain) { return gain > 0.0; }), share([](double gain) { return gain < 0.0; }),
                    cell(quantile(gained, 0.5)), cell(worst_tenth(gained, false))});
    } else if (several) {
      cells.insert(cells.end(), 4, i == 0 ? "baseline" : "\u2013");
    }
    add_row(target["table"], std::move(cells));
  }
  for (auto* chart : {&levels, &gains})
    if (!(*chart)["series"].empty()) target["charts"].push_back(std::move(*chart));
}

// Updates of a client over the mean of its run, by tenths of the clients in ascending order of something.
std::vector<double> participation_by(std::span<const run_record> runs, const configuration& setup,
                                     client_figure order) {
  constexpr std::size_t parts = 10;
  std::vector<double> sums(parts);
  std::vector<double> counts(parts);
  for (const auto i : setup.runs) {
    std::vector<std::pair<double, double>> ordered;
    double updates = 0.0;
    for (const auto& row : runs[i].clients)
      if (const auto value = row.*order; value && row.updates && row.group == 1) {
        ordered.emplace_back(*value, *row.updates);
        updates += *row.updates;
      }
    std::ranges::stable_sort(ordered, {}, &std::pair<double, double>::first);
    if (ordered.size() < parts || updates == 0.0 || ordered.front().first == ordered.back().first) continue;
    for (std::size_t k = 0; k < ordered.size(); ++k) {
      sums[k * parts / ordered.size()] += ordered[k].second * static_cast<double>(ordered.size()) / updates;
      counts[k * parts / ordered.size()] += 1.0;
    }
  }
  if (counts.front() == 0.0) return {};
  for (std::size_t k = 0; k < parts; ++k) sums[k] /= counts[k];
  return sums;
}

page_json participation_chart(const reported_runs& report, std::string title, std::string_view x, client_figure order) {
  auto made = quantile_chart(report, std::move(title), x, number_style::plain);
  made.update({{"rule", 1.0}, {"line", "equal participation"}, {"y", "updates, relative to the mean"}});
  for (std::size_t i = 0; i < report.configurations.size(); ++i) {
    const auto tenths = participation_by(report.runs, report.configurations[i], order);
    if (tenths.empty()) continue;
    auto& line = add_series(made, report.names[i], i);
    line["value"] = "";
    for (std::size_t k = 0; k < tenths.size(); ++k) {
      line["x"].push_back(brief(0.05 + static_cast<double>(k) / 10.0));
      line["y"].push_back(brief(tenths[k]));
    }
  }
  return made["series"].empty() ? page_json() : made;
}

// A point a client of the only configuration's first run, by speed and taste, coloured by its updates.
page_json participants(const reported_runs& report, const client_metric& which) {
  constexpr std::size_t most = 2000;
  if (report.configurations.size() > 1) return nullptr;
  const auto& clients = report.runs.front().clients;
  auto points = page_json::array();
  const auto step = std::max<std::size_t>(1, (clients.size() + most - 1) / most);
  for (std::size_t i = 0; i < clients.size(); i += step) {
    const auto& row = clients[i];
    const auto value = row.*which.value;
    if (!row.updates || row.group != 1 || !row.speed) continue;
    points.push_back({brief(*row.speed), brief(row.taste.value_or(0.0)), *row.updates,
                      "client " + std::to_string(row.client) + "\n" +
                          counted(static_cast<std::uint64_t>(*row.updates), "update") +
                          (value ? "\n" + which.title + " " + written(*value, which.style) : "")});
  }
  const auto differs = [&](std::size_t field) {
    return std::ranges::any_of(points, [&](const auto& point) { return point[field] != points[0][field]; });
  };
  if (points.empty() || !differs(0) || !differs(1)) return nullptr;
  auto made = new_chart("participants", "Who takes part, by speed and taste");
  add_series(made, "clients", 0);
  made["points"] = std::move(points);
  made["note"] = "A point is a client, the larger and more opaque the more of its updates were aggregated." +
                 (step > 1 ? " Every " + std::to_string(step) + "th client is drawn." : std::string());
  return made;
}

}  // namespace

page_json client_charts(const reported_runs& report) {
  page_json made{{"title", "Clients"}, {"note", ""}, {"charts", page_json::array()}};
  const auto which = metric_for(report.runs);
  if (!which) return made;
  const auto& title = which->title;
  const bool several = report.configurations.size() > 1;
  auto& table = made["table"];
  table = new_table("",
                    title +
                        ", client by client: the mean, values that a share of the clients is at or below, and the "
                        "mean over the worst tenth of the clients.",
                    {});
  if (several) add_heads(table, {"configuration"});
  add_heads(table, {"group"});
  add_heads(table, {"#clients", "#mean", "#10 %", "#median", "#90 %", "#worst tenth"}, title);
  if (several) add_heads(table, {"#gain", "#lose", "#median", "#worst tenth"}, "better than " + report.names[0]);
  for (const std::size_t number : {1U, 2U, 0U}) add_group(made, report, *which, number);
  auto& charts = made["charts"];
  add_some(charts, participation_chart(report, "Participation by speed", "clients, from the slowest device",
                                       &client_figures::speed));
  add_some(charts, participation_chart(report, "Participation by taste", "clients, from those whose labels are lowest",
                                       &client_figures::taste));
  add_some(charts, participants(report, *which));  // last, since it is taller
  made["note"] = joined(
      {"Clients are scored with the final model.",
       report.configurations.size() < report.runs.size() ? "Of several seeds all are shown." : "",
       several ? "Differences are those of a client between runs with the same seed and data." : "",
       "Participation is the number of a client\u2019s aggregated updates over the mean, in tenths of the clients."});
  return made;
}

}  // namespace furlong::tools
