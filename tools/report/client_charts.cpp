// The charts of clients: how quality is distributed over them, who gains and who loses, who takes part.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tools/compare/run_figures.hpp"
#include "tools/compare/scenario_settings.hpp"
#include "tools/report/detail/figures.hpp"

namespace furlong::tools {

namespace {

using client_figure = std::optional<double> client_figures::*;

struct client_metric {
  const char* title;
  client_figure value;
  number_style style;
  bool smaller_is_better;
};
constexpr std::array<client_metric, 3> client_metrics{
    {{"RMSE", &client_figures::rmse, number_style::plain, true},
     {"Accuracy", &client_figures::accuracy, number_style::accuracy, false},
     {"Loss", &client_figures::loss, number_style::plain, true}}};

bool has(std::span<const run_record> runs, client_figure which) {
  return std::ranges::any_of(runs, [&](const run_record& run) {
    return std::ranges::any_of(run.clients, [&](const auto& one) { return (one.*which).has_value(); });
  });
}

// The first that clients have; of language models the loss, whose exponential is the perplexity.
const client_metric* metric_for(std::span<const run_record> runs) {
  const bool words = std::ranges::any_of(runs, [](const run_record& run) {
    return run.summary &&
           (run.summary->figure("eval.seen.perplexity") || run.summary->figure("eval.unseen.perplexity"));
  });
  for (const auto& which : client_metrics)
    if (has(runs, which.value) && !(words && which.value == &client_figures::accuracy)) return &which;
  return nullptr;
}

// The values of a configuration's clients in all its runs, ascending.
std::vector<double> values_of(std::span<const run_record> runs, const configuration& of, client_figure which,
                              std::size_t group) {
  std::vector<double> values;
  for (const auto i : of.runs)
    for (const auto& one : runs[i].clients)
      if (const auto value = one.*which; value && std::isfinite(*value) && one.group == group) values.push_back(*value);
  std::ranges::sort(values);
  return values;
}

// A client of the same number is the same one in runs with the same data.
std::string data_text(const run_record& run) {
  std::string text = run.seed;
  for (const auto& [key, value] : scenario_settings(run.scenario))
    if (key.starts_with("data.")) text.append("\n").append(key).append("=").append(value);
  return text;
}

// How much better each client is in `of` than in `baseline`, ascending: in runs with the same seed and data.
std::vector<double> gains_of(std::span<const run_record> runs, const configuration& baseline, const configuration& of,
                             const client_metric& which, std::size_t group) {
  std::vector<double> gains;
  for (const auto i : of.runs)
    for (const auto j : baseline.runs) {
      if (data_text(runs[i]) != data_text(runs[j])) continue;
      std::map<std::uint32_t, double> before;
      for (const auto& one : runs[j].clients)
        if (const auto value = one.*which.value; value && one.group == group) before[one.client] = *value;
      for (const auto& one : runs[i].clients)
        if (const auto at = before.find(one.client); at != before.end() && one.*which.value) {
          const double gain = *(one.*which.value) - at->second;
          if (std::isfinite(gain)) gains.push_back(which.smaller_is_better ? -gain : gain);
        }
    }
  std::ranges::sort(gains);
  return gains;
}

double quantile(const std::vector<double>& ascending, double share) {
  const double at = share * static_cast<double>(ascending.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, ascending.size() - 1);
  return std::lerp(ascending[low], ascending[high], at - static_cast<double>(low));
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The mean over the worst tenth.
double worst_tenth(const std::vector<double>& ascending, bool smaller_is_better) {
  const auto count = (ascending.size() + 9) / 10;
  const std::span<const double> all(ascending);
  return mean_of(smaller_is_better ? all.last(count) : all.first(count));
}

page_json quantile_chart(std::string title, std::string x, number_style style, bool shared) {
  page_json made{{"kind", "quantiles"}, {"title", std::move(title)}, {"x", std::move(x)}, {"style", name_of(style)}};
  made.update({{"shared", shared}, {"series", page_json::array()}});
  return made;
}

void add_points(page_json& chart, const std::string& name, std::size_t colour, const std::vector<double>& ascending,
                number_style style) {
  constexpr int parts = 100;
  page_json made{{"name", name}, {"colour", colour}, {"value", "median " + written(quantile(ascending, 0.5), style)}};
  for (int i = 0; i <= parts; ++i) {
    made["x"].push_back(brief(static_cast<double>(i) / parts));
    made["y"].push_back(brief(quantile(ascending, static_cast<double>(i) / parts)));
  }
  chart["series"].push_back(std::move(made));
}

// Updates of a client over the mean of its run, by tenths of the clients in ascending order of something.
std::vector<double> participation_by(std::span<const run_record> runs, const configuration& of,
                                     const std::function<std::optional<double>(const client_figures&)>& order) {
  constexpr std::size_t parts = 10;
  std::vector<double> sums(parts);
  std::vector<double> counts(parts);
  for (const auto i : of.runs) {
    std::vector<std::pair<double, double>> ordered;
    double updates = 0.0;
    for (const auto& one : runs[i].clients)
      if (const auto value = order(one); value && one.updates && one.group == 1) {
        ordered.emplace_back(*value, *one.updates);
        updates += *one.updates;
      }
    std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) { return a.first < b.first; });
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

page_json participation_chart(std::span<const run_record> runs, std::span<const configuration> of,
                              const std::vector<std::string>& names, std::string title, std::string x,
                              const std::function<std::optional<double>(const client_figures&)>& order) {
  auto made = quantile_chart(std::move(title), std::move(x), number_style::plain, of.size() > 1);
  made.update({{"rule", 1.0}, {"line", "equal participation"}, {"y", "updates, relative to the mean"}});
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto tenths = participation_by(runs, of[i], order);
    if (tenths.empty()) continue;
    page_json one{{"name", names[i]}, {"colour", i}, {"value", ""}};
    for (std::size_t k = 0; k < tenths.size(); ++k) {
      one["x"].push_back(brief(0.05 + static_cast<double>(k) / 10.0));
      one["y"].push_back(brief(tenths[k]));
    }
    made["series"].push_back(std::move(one));
  }
  return made;
}

// One run: a point a client, by speed and taste, coloured by its updates.
page_json participants(const run_record& run, const client_metric& which) {
  constexpr std::size_t most = 2000;
  page_json points = page_json::array();
  const auto step = std::max<std::size_t>(1, (run.clients.size() + most - 1) / most);
  for (std::size_t i = 0; i < run.clients.size(); i += step) {
    const auto& one = run.clients[i];
    const auto value = one.*which.value;
    if (!one.updates || one.group != 1 || !one.speed) continue;
    points.push_back({brief(*one.speed), brief(one.taste), *one.updates,
                      "client " + std::to_string(one.client) + "\n" +
                          counted(static_cast<std::uint64_t>(*one.updates), "update") +
                          (value ? "\n" + std::string(which.title) + " " + written(*value, which.style) : "")});
  }
  const auto differs = [&](std::size_t field) {
    return std::ranges::any_of(points, [&](const auto& one) { return one[field] != points[0][field]; });
  };
  if (points.empty() || !differs(0) || !differs(1)) return nullptr;
  page_json made{{"kind", "participants"}, {"title", "Who takes part, by speed and taste"}, {"style", "plain"}};
  made.update({{"series", {{{"name", "clients"}, {"colour", 0}}}}, {"points", std::move(points)}});
  made["note"] = "A point is a client, the larger and more opaque the more of its updates were aggregated.";
  if (step > 1)
    made["note"] = made["note"].get<std::string>() + " Every " + std::to_string(step) + "th client is drawn.";
  return made;
}

void add_participation(page_json& made, std::span<const run_record> runs, std::span<const configuration> configurations,
                       const std::vector<std::string>& names, const client_metric& which) {
  for (auto& chart :
       {participation_chart(runs, configurations, names, "Participation by speed", "clients, from the slowest device",
                            [](const client_figures& one) { return one.speed; }),
        participation_chart(runs, configurations, names, "Participation by taste",
                            "clients, from those whose labels are lowest",
                            [](const client_figures& one) { return std::optional(one.taste); })})
    if (!chart["series"].empty()) made["charts"].push_back(chart);
  if (configurations.size() == 1)
    if (auto picture = participants(runs.front(), which); !picture.is_null())
      made["charts"].push_back(std::move(picture));  // last, since it is taller
}

}  // namespace

page_json client_charts(std::span<const run_record> runs, std::span<const configuration> configurations,
                        const std::vector<std::string>& names) {
  page_json made{{"title", "Clients"}, {"note", ""}, {"charts", page_json::array()}};
  const auto* which = metric_for(runs);
  if (which == nullptr) return made;
  const std::string title(which->title);
  const bool several = configurations.size() > 1;
  page_json table{
      {"caption", title + ", client by client: the mean, values that a share of the clients is at or below, "
                          "and the mean over the worst tenth of the clients."},
      {"heads", page_json::array()},
      {"rows", page_json::array()}};
  if (several) table["heads"].push_back({{"name", "configuration"}});
  table["heads"].push_back({{"name", "group"}});
  const auto head = [&](std::initializer_list<const char*> heads, const std::string& group) {
    for (const auto* name : heads) table["heads"].push_back({{"name", name}, {"numeric", true}, {"group", group}});
  };
  head({"clients", "mean", "10 %", "median", "90 %", "worst tenth"}, title);
  if (several) head({"gain", "lose", "median", "worst tenth"}, "better than " + names[0]);
  for (const std::size_t number : {1U, 2U, 0U}) {
    const std::string group(evaluation_groups[number]);
    auto levels = quantile_chart(title + " of " + group + " clients", "share of the clients", which->style, several);
    auto gains =
        quantile_chart("Better than " + names[0] + ": " + title + " of " + group + " clients",
                       "share of the clients, from the largest loss to the largest gain", which->style, several);
    levels["zero"] = true;
    gains.update({{"rule", 0.0}, {"line", "no difference"}});
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const auto values = values_of(runs, configurations[i], which->value, number);
      if (values.size() < 2) continue;
      add_points(levels, names[i], i, values, which->style);
      const auto text = [&](double value) {
        return page_json{{"text", written(value, which->style)}, {"value", brief(value)}};
      };
      auto cells = several ? page_json{names[i], group} : page_json{group};
      cells.insert(cells.end(), {grouped(values.size()), text(mean_of(values))});
      for (const double share : {0.1, 0.5, 0.9}) cells.push_back(text(quantile(values, share)));
      cells.push_back(text(worst_tenth(values, which->smaller_is_better)));
      const auto gained =
          i == 0 ? std::vector<double>() : gains_of(runs, configurations[0], configurations[i], *which, number);
      if (several && gained.size() < 2) cells.insert(cells.end(), 4, i == 0 ? "baseline" : "\u2013");
      if (gained.size() >= 2) {
        add_points(gains, names[i], i, gained, which->style);
        const auto share = [&](auto is) {
          return written(static_cast<double>(std::ranges::count_if(gained, is)) / static_cast<double>(gained.size()),
                         number_style::percent);
        };
        cells.push_back(share([](double gain) { return gain > 0.0; }));
        cells.push_back(share([](double gain) { return gain < 0.0; }));
        cells.push_back(text(quantile(gained, 0.5)));
        cells.push_back(text(worst_tenth(gained, false)));
      }
      table["rows"].push_back({{"cells", std::move(cells)}});
    }
    for (auto* chart : {&levels, &gains})
      if (!(*chart)["series"].empty()) made["charts"].push_back(std::move(*chart));
  }
  add_participation(made, runs, configurations, names, *which);
  made["table"] = std::move(table);
  made["note"] = joined(
      {"Clients are scored with the final model.",
       configurations.size() < runs.size() ? "Of several seeds all are shown." : "",
       several ? "Differences are those of a client between runs with the same seed and data." : "",
       "Participation is the number of a client\u2019s aggregated updates over the mean, in tenths of the clients."});
  return made;
}

}  // namespace furlong::tools
