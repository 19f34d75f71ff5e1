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
std::vector<double> values_at(const tuned_setting& setting, std::size_t rung) {
  std::vector<double> values;
  for (const auto& run : setting.runs)
    if (rung < run.figures.size() && run.figures[rung].value) values.push_back(*run.figures[rung].value);
  return values;
}

json plan_json(const tuning& state) {
  json plan = {
      {"seeds", state.seeds},           {"factor", state.halving.factor},
      {"rounds", state.halving.rounds}, {"budget", state.halving.budget ? json(*state.halving.budget) : json()},
      {"rungs", json::array()},         {"grid", grid_json(state.axes)},
      {"tied", tied_json(state.axes)}};
  for (const auto& rung : state.rungs) plan["rungs"].push_back({{"settings", rung.settings}, {"rounds", rung.rounds}});
  return plan;
}

json run_json(const tuned_run& run) {
  json out = {{"run", run.run.row.run}, {"seed", run.run.row.point.seed}, {"figures", json::array()}};
  for (const auto& figure : run.figures)
    out["figures"].push_back({{"rounds", figure.rounds},
                              {"value", optional_json(figure.value)},
                              {"examples", figure.examples},
                              {"clients", figure.clients}});
  return out;
}

/// The figure of the last rung that a setting ended.
std::optional<double> last_figure(const tuned_setting& setting) {
  return setting.rungs() == 0 ? std::nullopt : setting.figure(setting.rungs() - 1);
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
  std::vector<std::size_t> active(settings.size());
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = i;
  for (std::size_t k = 0; k < rung; ++k) {
    std::vector<std::optional<double>> figures;
    for (const auto i : active) figures.push_back(settings[i].figure(k));
    auto best = ranked(figures, smaller_is_better);
    best.resize(rungs[k + 1].settings);
    std::ranges::sort(best);
    for (auto& index : best) index = active[index];
    active = std::move(best);
  }
  return active;
}

std::vector<std::size_t> tuning::order() const {
  std::vector<std::size_t> found;
  std::map<std::size_t, std::vector<std::size_t>, std::greater<>> by_rungs;
  for (std::size_t i = 0; i < settings.size(); ++i) by_rungs[settings[i].rungs()].push_back(i);
  for (const auto& [ended, group] : by_rungs) {
    std::vector<std::optional<double>> figures;
    for (const auto i : group) figures.push_back(last_figure(settings[i]));
    for (const auto index : ranked(figures, smaller_is_better)) found.push_back(group[index]);
  }
  return found;
}

std::uint64_t tuning::trained() const {
  std::uint64_t total = 0;
  for (const auto& setting : settings)
    for (const auto& run : setting.runs)
      if (!run.figures.empty()) total += run.figures.back().rounds;
  return total;
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

json tune_json(const tuning& state, bool ended) {
  json out = {{"scenario", state.scenario},
              {"metric", state.metric},
              {"smaller_is_better", state.smaller_is_better},
              {"plan", plan_json(state)},
              {"rounds_trained", state.trained()},
              {"rounds_of_grid", state.whole()},
              {"settings", json::array()}};
  std::vector<std::size_t> rank(state.settings.size());
  const auto order = state.order();
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i + 1;
  const auto setting_json = [&](const tuned_setting& setting) {
    return json{{"name", setting.label},
                {"grid", point_json(state.axes, setting.runs.front().run.row.point)},
                {"rounds", setting.rounds()},
                {"figure", optional_json(last_figure(setting))}};
  };
  for (std::size_t i = 0; i < state.settings.size(); ++i) {
    auto line = setting_json(state.settings[i]);
    line["rank"] = rank[i];
    for (const auto& run : state.settings[i].runs) line["runs"].push_back(run_json(run));
    out["settings"].push_back(std::move(line));
  }
  out["warnings"] = state.warnings();
  if (!ended) return out;
  out["best"] = setting_json(state.settings[order.front()]);
  out["best"]["scenario"] = "best.toml";
  return out;
}

result<void> recall_figures(tuning& state, const json& before, const std::string& place) {
  const auto now = tune_json(state, false);
  for (const char* key : {"scenario", "metric", "plan"})
    if (!before.contains(key) || before[key] != now[key])
      return fail(error::kind::usage, place, fmt::format("is of another tuning: its \"{}\" differs", key),
                  "choose another --out, or remove the folder");
  std::map<std::string, const json*> known;
  for (const auto& setting : before["settings"])
    for (const auto& run : setting["runs"]) known[run["run"].get<std::string>()] = &run["figures"];
  for (auto& setting : state.settings)
    for (auto& run : setting.runs)
      if (const auto found = known.find(run.run.row.run); found != known.end())
        for (const auto& figure : *found->second)
          run.figures.push_back(
              {figure["rounds"].get<std::uint64_t>(),
               figure["value"].is_null() ? std::nullopt : std::optional(figure["value"].get<double>()),
               figure.value("examples", std::uint64_t{0}), figure.value("clients", std::uint64_t{0})});
  return {};
}

std::string tune_table(const tuning& state) {
  std::vector<text_column> columns;
  for (const auto& axis : state.axes) columns.push_back({"", axis.name, {}, true});
  columns.push_back({"", "rounds", {}, false});
  columns.push_back({"", state.metric.substr(state.metric.find('.') + 1), {}, false});
  for (const auto i : state.order()) {
    const auto& setting = state.settings[i];
    const auto& indices = setting.runs.front().run.row.point.indices;
    for (std::size_t a = 0; a < state.axes.size(); ++a)
      columns[a].cells.push_back(state.axes[a].values[indices[a]].shown);
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
