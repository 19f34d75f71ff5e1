#include "tools/sweep/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "tools/compare/comparison.hpp"
#include "tools/compare/text_table.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace furlong::tools {

namespace {

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// The values of a rung over the seeds, of runs that ended it with one.
std::vector<double> values_at(const tuned_setting& of, std::size_t rung) {
  std::vector<double> values;
  for (const auto& run : of.runs)
    if (rung < run.figures.size() && run.figures[rung].value) values.push_back(*run.figures[rung].value);
  return values;
}

json plan_json(const tuning& of) {
  json plan = {{"seeds", of.seeds},         {"factor", of.how.factor},
               {"rounds", of.how.rounds},   {"budget", of.how.budget ? json(*of.how.budget) : json()},
               {"rungs", json::array()},    {"grid", grid_json(of.axes)},
               {"tied", tied_json(of.axes)}};
  for (const auto& one : of.rungs) plan["rungs"].push_back({{"settings", one.settings}, {"rounds", one.rounds}});
  return plan;
}

json run_json(const tuned_run& of) {
  json out = {{"run", of.run.row.run}, {"seed", of.run.row.point.seed}, {"figures", json::array()}};
  for (const auto& figure : of.figures)
    out["figures"].push_back({{"rounds", figure.rounds},
                              {"value", optional_json(figure.value)},
                              {"examples", figure.examples},
                              {"clients", figure.clients}});
  return out;
}

/// The figure of the last rung that a setting ended.
std::optional<double> last_figure(const tuned_setting& of) {
  return of.rungs() == 0 ? std::nullopt : of.figure(of.rungs() - 1);
}

}  // namespace

std::optional<double> tuned_setting::figure(std::size_t rung) const {
  const auto values = values_at(*this, rung);
  if (values.empty() || values.size() < runs.size()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::size_t tuned_setting::rungs() const {
  const auto least = std::ranges::min_element(runs, {}, [](const auto& run) { return run.figures.size(); });
  return least == runs.end() ? 0 : least->figures.size();
}

std::uint64_t tuned_setting::rounds() const {
  std::uint64_t most = 0;
  for (const auto& run : runs)
    if (!run.figures.empty()) most = std::max(most, run.figures.back().rounds);
  return most;
}

std::vector<std::size_t> tuning::in_rung(std::size_t rung) const {
  std::vector<std::size_t> in(settings.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = i;
  for (std::size_t k = 0; k < rung; ++k) {
    std::vector<std::optional<double>> figures;
    for (const auto i : in) figures.push_back(settings[i].figure(k));
    auto best = ranked(figures, smaller_is_better);
    best.resize(rungs[k + 1].settings);
    std::ranges::sort(best);
    for (auto& one : best) one = in[one];
    in = std::move(best);
  }
  return in;
}

std::vector<std::size_t> tuning::order() const {
  std::vector<std::size_t> all;
  std::map<std::size_t, std::vector<std::size_t>, std::greater<>> by_rungs;
  for (std::size_t i = 0; i < settings.size(); ++i) by_rungs[settings[i].rungs()].push_back(i);
  for (const auto& [ended, group] : by_rungs) {
    std::vector<std::optional<double>> figures;
    for (const auto i : group) figures.push_back(last_figure(settings[i]));
    for (const auto at : ranked(figures, smaller_is_better)) all.push_back(group[at]);
  }
  return all;
}

std::uint64_t tuning::trained() const {
  std::uint64_t all = 0;
  for (const auto& setting : settings)
    for (const auto& run : setting.runs)
      if (!run.figures.empty()) all += run.figures.back().rounds;
  return all;
}

std::vector<std::string> tuning::warnings() const {
  std::vector<std::string> found;
  for (std::size_t rung = 0; rung < rungs.size(); ++rung)
    for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
      std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::string>> scored;
      for (const auto& setting : settings)
        if (const auto& run = setting.runs[seed]; rung < run.figures.size() && run.figures[rung].examples > 0)
          scored[{run.figures[rung].examples, run.figures[rung].clients}].push_back(setting.label);
      if (scored.size() < 2) continue;
      std::vector<std::string> parts;
      for (const auto& [counts, labels] : scored)
        parts.push_back(fmt::format("{} examples of {} clients ({}{})", counts.first, counts.second, labels.front(),
                                    labels.size() > 1 ? fmt::format(" and {} more", labels.size() - 1) : ""));
      found.push_back(
          fmt::format("rung {} ranks figures that are not of the same examples: {}", rung + 1, joined(parts, ", ")));
      break;
    }
  return found;
}

json tune_json(const tuning& of, bool ended) {
  json out = {{"scenario", of.scenario},
              {"metric", of.metric},
              {"smaller_is_better", of.smaller_is_better},
              {"plan", plan_json(of)},
              {"rounds_trained", of.trained()},
              {"rounds_of_grid", of.whole()},
              {"settings", json::array()}};
  std::vector<std::size_t> rank(of.settings.size());
  const auto order = of.order();
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i + 1;
  const auto setting_json = [&](const tuned_setting& one) {
    return json{{"name", one.label},
                {"grid", point_json(of.axes, one.runs.front().run.row.point)},
                {"rounds", one.rounds()},
                {"figure", optional_json(last_figure(one))}};
  };
  for (std::size_t i = 0; i < of.settings.size(); ++i) {
    auto line = setting_json(of.settings[i]);
    line["rank"] = rank[i];
    for (const auto& run : of.settings[i].runs) line["runs"].push_back(run_json(run));
    out["settings"].push_back(std::move(line));
  }
  out["warnings"] = of.warnings();
  if (!ended) return out;
  out["best"] = setting_json(of.settings[order.front()]);
  out["best"]["scenario"] = "best.toml";
  return out;
}

result<void> recall_figures(tuning& of, const json& before, const std::string& place) {
  const auto now = tune_json(of, false);
  for (const char* key : {"scenario", "metric", "plan"})
    if (!before.contains(key) || before[key] != now[key])
      return fail(error::kind::usage, place, fmt::format("is of another tuning: its \"{}\" differs", key),
                  "choose another --out, or remove the folder");
  std::map<std::string, const json*> known;
  for (const auto& setting : before["settings"])
    for (const auto& run : setting["runs"]) known[run["run"].get<std::string>()] = &run["figures"];
  for (auto& setting : of.settings)
    for (auto& run : setting.runs)
      if (const auto at = known.find(run.run.row.run); at != known.end())
        for (const auto& figure : *at->second)
          run.figures.push_back(
              {figure["rounds"].get<std::uint64_t>(),
               figure["value"].is_null() ? std::nullopt : std::optional(figure["value"].get<double>()),
               figure.value("examples", std::uint64_t{0}), figure.value("clients", std::uint64_t{0})});
  return {};
}

std::string tune_table(const tuning& of) {
  std::vector<text_column> columns;
  for (const auto& axis : of.axes) columns.push_back({"", axis.name, {}, true});
  columns.push_back({"", "rounds", {}, false});
  columns.push_back({"", of.metric.substr(of.metric.find('.') + 1), {}, false});
  for (const auto i : of.order()) {
    const auto& setting = of.settings[i];
    const auto& at = setting.runs.front().run.row.point.at;
    for (std::size_t a = 0; a < of.axes.size(); ++a) columns[a].cells.push_back(of.axes[a].values[at[a]].shown);
    (columns.end() - 2)->cells.push_back(std::to_string(setting.rounds()));
    const auto figure = last_figure(setting);
    if (!figure) {
      columns.back().cells.emplace_back("failed");
      continue;
    }
    const auto spread = estimate_of(values_at(setting, setting.rungs() - 1)).sd;
    const auto text = written_spread(*figure, spread, number_style::plain);
    columns.back().cells.push_back(text.mean + (spread ? " +- " + text.spread : ""));
  }
  return text_table(std::move(columns));
}

}  // namespace furlong::tools
