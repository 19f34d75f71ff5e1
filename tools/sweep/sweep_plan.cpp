#include "tools/sweep/sweep_plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "federated/settings/aggregation.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

namespace {

constexpr std::uint64_t most_runs = 100'000;
constexpr const char* added_epsilons =
    "privacy.noise: epsilon is that of one run; epsilon and delta of all runs on the same clients add up, also of "
    "those that are not chosen";

/// Conflicts between options.
std::vector<error> contradictions(const sweep_request& request, const std::vector<grid_axis>& axes) {
  std::vector<error> problems;
  const auto complain = [&](const std::string& place, std::string why, std::string fix) {
    problems.push_back({error::kind::usage, place, std::move(why), std::move(fix)});
  };
  for (const auto& axis : axes) {
    for (const auto& set : request.overrides)
      if (set.key == axis.key) complain("--set " + set.key, "the key is in the grid too", "omit one of them");
    if (axis.key == "scenario.seed") complain(axis.option, "is set by --seeds", "write --seeds 1,2,3");
    if (axis.key == "scenario.name") complain(axis.option, "is the name of all runs", "omit it");
  }
  if (std::set<std::uint64_t>(request.seeds.begin(), request.seeds.end()).size() != request.seeds.size())
    complain("--seeds", "a seed is repeated", "name each seed once");
  const auto count = count_points(axes, std::max<std::size_t>(1, request.seeds.size()) * request.scenarios.size());
  if (count > most_runs)
    complain("--grid", fmt::format("makes more than {} runs", most_runs), "sweep fewer values at a time");
  return problems;
}

/// The problems of many scenarios, each once.
class all_problems {
 public:
  void add(const std::vector<scenarios::problem>& problems) {
    for (const auto& problem : problems)
      if (known_.insert(problem.text()).second) problems_.push_back(problem);
  }
  [[nodiscard]] const std::vector<scenarios::problem>& get() const { return problems_; }

 private:
  std::set<std::string> known_;
  std::vector<scenarios::problem> problems_;
};

/// The seeds of a scenario's runs.
std::vector<std::uint64_t> seeds_for(const sweep_request& request, const std::filesystem::path& file) {
  if (!request.seeds.empty()) return request.seeds;
  const auto base = parse_variant(file, request.overrides, request.smoke);
  return {base ? base->settings.seed : 1};  // a scenario that is invalid alone may be valid with the grid
}

/// Indices of runs, by what chooses their data: the source and its options.
using runs_by_data =
    std::map<std::pair<std::string, std::map<std::string, option_value, std::less<>>>, std::vector<std::size_t>>;

/// Adds the runs of one scenario. Returns its name; empty if no run is valid.
std::string add_scenario(const sweep_request& request, const std::filesystem::path& file, sweep_plan& plan,
                         runs_by_data& by_data, all_problems& problems) {
  std::string name;
  for (auto& point : grid_points(plan.axes, seeds_for(request, file))) {
    auto scenario = parse_variant(file, overrides_for(request, plan.axes, point), request.smoke);
    if (!scenario) {
      problems.add(scenario.error());
      continue;
    }
    scenario->expectations.clear();  // they apply to the unmodified scenario
    name = scenario->name;
    sweep_run run;
    run.row.run = folder_of(name, plan.axes, point);
    run.row.scenario = name;
    run.row.point = std::move(point);
    run.file = file;
    run.resolved = scenarios::resolved_toml(*scenario);
    plan.notes.add(run.row.run, scenario->notes);
    auto options = scenario->data.all();
    if (scenarios::find_dataset(scenario->data_source)->code) options.erase("seed");  // a class is opened only once
    by_data[{scenario->data_source, std::move(options)}].push_back(plan.runs.size());
    if (scenario->settings.privacy->noise > 0) plan.notes.add(run.row.run, {added_epsilons});
    plan.runs.push_back(std::move(run));
  }
  return name;
}

/// Checks the runs against their data, each of which is loaded once. Prints what refuses a run, and returns false if
/// anything does. Data that are missing or damaged are left to the runs.
bool check_against_data(const sweep_request& request, const sweep_plan& plan, const runs_by_data& by_data) {
  sweep_notes refusals;
  for (const auto& [table, runs] : by_data) {
    std::optional<result<scenarios::dataset>> data;
    for (const auto i : runs) {
      const auto& run = plan.runs[i];
      auto scenario = parse_variant(run.file, overrides_for(request, plan.axes, run.row.point), request.smoke);
      if (!data) data = scenarios::load_data(*scenario);
      const auto opened = *data ? open_prepared_run(std::move(*scenario), **data, clients_are::without_devices)
                                : result<prepared_run>(tl::unexpected(data->error()));
      if (!opened && opened.error().what != error::kind::data) refusals.add(run.row.run, {opened.error().text()});
    }
  }
  refusals.print(plan.runs.size(), "");
  return refusals.empty();
}

}  // namespace

void sweep_notes::add(const std::string& run, const std::vector<std::string>& notes) {
  for (const auto& note : notes) {
    const auto text = for_people(note);
    auto found = std::ranges::find(notes_, text, &std::pair<std::string, about>::first);
    if (found == notes_.end()) found = notes_.insert(found, {text, {run, 0}});
    ++found->second.runs;
  }
}

void sweep_notes::print(std::size_t runs, std::string_view word) const {
  for (const auto& [text, note] : notes_) {
    const auto remark = note.runs > 1 ? fmt::format(" and {} more", note.runs - 1) : "";
    fmt::print(stderr, "{}{}{}\n", word, note.runs == runs ? "" : note.first + remark + ": ", text);
  }
}

void sweep_notes::print_new(const std::string& run, const std::vector<std::string>& notes) {
  for (const auto& note : notes) {
    const auto text = for_people(note);
    if (std::ranges::find(notes_, text, &std::pair<std::string, about>::first) != notes_.end()) continue;
    notes_.push_back({text, {run, 1}});
    fmt::print(stderr, "{}{}: {}\n", note_word, run, text);
  }
}

std::vector<std::string> notes_in(const std::string& output) {
  std::vector<std::string> notes;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(note_word)) notes.push_back(line.substr(note_word.size()));
  return notes;
}

std::vector<sweep_row> sweep_plan::rows() const {
  std::vector<sweep_row> rows;
  for (const auto& run : runs) rows.push_back(run.row);
  return rows;
}

std::string sweep_plan::label(const sweep_run& entry) const {
  const auto values = label_of(axes, entry.row.point);
  if (runs.front().row.scenario == runs.back().row.scenario) return values;
  return entry.row.scenario + (values.empty() ? "" : ", ") + values;
}

std::vector<scenarios::setting_override> overrides_for(const sweep_request& request, const std::vector<grid_axis>& axes,
                                                       const grid_point& point) {
  auto overrides = request.overrides;
  for (auto& setting : overrides_of(axes, point)) overrides.push_back(std::move(setting));
  overrides.push_back({"scenario.seed", std::to_string(point.seed), "--seeds"});
  return overrides;
}

int report_all(const std::vector<error>& problems) {
  for (const auto& problem : problems) std::cerr << "furlong: " << for_people(problem.text()) << '\n';
  return usage;
}

std::optional<sweep_plan> make_plan(const sweep_request& request) {
  auto axes = parse_grid(request.grid);
  const auto wrong = axes ? contradictions(request, *axes) : axes.error();
  report_all(wrong);
  if (!wrong.empty()) return std::nullopt;

  sweep_plan plan{std::move(*axes), {}, {}};
  all_problems problems;
  runs_by_data by_data;
  std::map<std::string, std::filesystem::path> names;
  for (const auto& file : request.scenarios) {
    const auto name = add_scenario(request, file, plan, by_data, problems);
    if (const auto [known, first] = names.emplace(name, file); !first && !name.empty())
      problems.add({{file.string(), 0, 0, "scenario.name", "is that of " + known->second.string() + " too: " + name,
                     "give each scenario of a sweep a name of its own"}});
  }
  report_problems(problems.get());
  if (!problems.get().empty() || !check_against_data(request, plan, by_data)) return std::nullopt;
  return plan;
}

}  // namespace furlong::tools
