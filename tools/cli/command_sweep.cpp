// furlong sweep
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "models/kernels/kernels.hpp"
#include "tools/cli/child_runs.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/messages.hpp"
#include "tools/cli/session.hpp"
#include "tools/cli/version.hpp"
#include "tools/report/report.hpp"
#include "tools/sweep/sweep_folder.hpp"

namespace furlong::tools {

namespace {

constexpr std::uint64_t most_runs = 100'000;

/// A sweep whose runs are all valid.
struct sweep_plan {
  std::string scenario;  ///< its name
  std::vector<grid_axis> axes;
  std::vector<sweep_run> runs;

  [[nodiscard]] std::vector<sweep_row> rows() const {
    std::vector<sweep_row> rows;
    for (const auto& run : runs) rows.push_back(run.row);
    return rows;
  }
};

/// Conflicts between options.
std::vector<error> contradictions(const sweep_options& options, const std::vector<grid_axis>& axes) {
  std::vector<error> problems;
  const auto complain = [&](const std::string& place, std::string why, std::string fix) {
    problems.push_back({error::kind::usage, place, std::move(why), std::move(fix)});
  };
  for (const auto& axis : axes) {
    for (const auto& set : options.overrides)
      if (set.key == axis.key) complain("--set " + set.key, "the key is in the grid too", "omit one of them");
    if (axis.key == "scenario.seed") complain("--grid scenario.seed", "is set by --seeds", "write --seeds 1,2,3");
    if (axis.key == "scenario.name") complain("--grid scenario.name", "is the name of all runs", "omit it");
  }
  if (std::set<std::uint64_t>(options.seeds.begin(), options.seeds.end()).size() != options.seeds.size())
    complain("--seeds", "a seed is repeated", "name each seed once");
  const auto count = count_points(axes, std::max<std::size_t>(1, options.seeds.size()));
  if (count > most_runs)
    complain("--grid", fmt::format("makes more than {} runs", most_runs), "sweep fewer values at a time");
  return problems;
}

/// The scenarios of all points. Prints every problem once; returns nothing if there is any.
std::optional<sweep_plan> make_plan(const sweep_options& options, std::vector<grid_axis> axes) {
  sweep_plan plan{{}, std::move(axes), {}};
  std::set<std::string> said;
  std::vector<scenarios::problem> problems;
  const auto note = [&](const std::vector<scenarios::problem>& some) {
    for (const auto& one : some)
      if (said.insert(one.text()).second) problems.push_back(one);
  };
  auto seeds = options.seeds;
  if (seeds.empty()) {
    const auto base = parse_variant(options.scenario, options.overrides, options.smoke);
    seeds.push_back(base ? base->settings.seed : 1);  // a scenario that is invalid alone may be valid with the grid
  }
  for (auto& point : grid_points(plan.axes, seeds)) {
    auto overrides = options.overrides;
    for (auto& one : overrides_of(plan.axes, point)) overrides.push_back(std::move(one));
    overrides.push_back({"scenario.seed", std::to_string(point.seed)});
    auto scenario = parse_variant(options.scenario, overrides, options.smoke);
    if (!scenario) {
      note(scenario.error());
      continue;
    }
    scenario->expectations.clear();  // they apply to the unmodified scenario
    plan.scenario = scenario->name;
    sweep_run run;
    run.row.run = folder_of(scenario->name, plan.axes, point);
    run.row.point = std::move(point);
    run.resolved = scenarios::resolved_toml(*scenario);
    plan.runs.push_back(std::move(run));
  }
  if (problems.empty()) return plan;
  report_problems(problems);
  return std::nullopt;
}

/// Warns about finished runs whose results this process may not reproduce.
void note_other_makers(const sweep_plan& plan) {
  const std::pair<std::string, std::string> here(version, models::kernels().level);
  std::map<std::pair<std::string, std::string>, std::size_t> makers;
  for (const auto& run : plan.runs)
    if (const auto& of = run.row.summary; !of.is_null())
      ++makers[{of.value("furlong", ""), of.value("kernel_level", "")}];
  makers.erase(here);
  for (const auto& [maker, count] : makers)
    fmt::print(stderr,
               "note: {} of the finished runs {} computed by furlong {} with kernels of level {}, this is {} with {}: "
               "results may differ; runs whose folders are removed run again (FURLONG_KERNEL_LEVEL pins the level)\n",
               count, count == 1 ? "was" : "were", maker.first, maker.second, here.first, here.second);
}

/// Runs all unfinished runs. False: interrupted.
result<bool> run_waiting(sweep_plan& plan, const sweep_folder& folder, const sweep_options& options) {
  std::vector<child_run> children;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    if (run.row.status != run_status::waiting) continue;
    const auto scenario = folder.log(run, ".toml");
    if (auto written = write_atomically(scenario, run.resolved); !written) return tl::unexpected(written.error());
    children.push_back({{"run", scenario.string(), "--out", folder.run(run).string(), "--format", "json", "--resume",
                         "--threads", std::to_string(options.threads)},
                        folder.log(run, ".stdout"),
                        folder.log(run, ".stderr")});
    indices.push_back(i);
  }
  const auto kept = plan.runs.size() - children.size();
  fmt::print(stderr, "{} runs, {} finished before\n", plan.runs.size(), kept);
  std::size_t ended = kept;
  result<void> written;
  const auto jobs = options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  auto ran = run_children(children, jobs, [&](std::size_t child, const child_end& end) {
    auto& run = plan.runs[indices[child]];
    folder.take(run, end.code);
    if (run.row.status == run_status::waiting) return;
    fmt::print(stderr, "[{}/{}] {} {} ({:.1f} s)\n", ++ended, plan.runs.size(), run.row.run,
               run.row.status == run_status::done ? "done" : failure_word(run.row.why), end.seconds);
    if (auto tables = folder.write_tables(plan.scenario, plan.axes, plan.rows()); !tables) written = tables;
  });
  if (!written) return tl::unexpected(written.error());
  return ran;
}

/// The comparison report of the runs with a summary; false: there are none.
result<bool> write_comparison(const sweep_plan& plan, const sweep_folder& folder) {
  std::vector<run_record> records;
  for (const auto& run : plan.runs) {
    if (run.row.summary.is_null()) continue;
    auto record = read_run(folder.run(run));
    if (!record) return tl::unexpected(record.error());
    if (const auto label = label_of(plan.axes, run.row.point); !label.empty()) record->name = label;
    records.push_back(std::move(*record));
  }
  if (records.empty()) return false;
  if (auto written = write_report(records, folder.report()); !written) return tl::unexpected(written.error());
  return true;
}

int conclude(const sweep_plan& plan, const sweep_folder& folder) {
  const auto rows = plan.rows();
  if (auto written = folder.write_tables(plan.scenario, plan.axes, rows); !written)
    return report_failure(written.error());
  const auto compared = write_comparison(plan, folder);
  if (!compared) return report_failure(compared.error());
  fmt::print("{}", sweep_table(plan.axes, rows));
  if (*compared) fmt::print("report: {}\n", folder.report().string());
  fmt::print("table: {}\n", folder.csv_file().string());
  std::size_t failed = 0;
  std::size_t without_data = 0;
  for (const auto& row : rows) {
    if (row.status == run_status::done) continue;
    ++failed;
    if (row.code == data) ++without_data;
    fmt::print(stderr, "furlong: {}: {}\n", row.run, row.why);
  }
  if (failed == 0) return done;
  fmt::print(stderr, "furlong: {} of {} runs failed; those without summary.json run again next time\n", failed,
             rows.size());
  return without_data == failed ? data : failure;
}

}  // namespace

int sweep_command(const sweep_options& options) {
  auto axes = parse_grid(options.grid);
  auto problems = axes ? contradictions(options, *axes) : axes.error();
  if (!problems.empty()) {
    for (const auto& one : problems) std::cerr << "furlong: " << for_people(one.text()) << '\n';
    return usage;
  }
  auto plan = make_plan(options, std::move(*axes));
  if (!plan) return usage;
  const auto root = options.out.empty() ? std::filesystem::path("runs") / (plan->scenario + "-sweep") : options.out;
  const auto folder = sweep_folder::open(root);
  if (!folder) return report_failure(folder.error());
  int code = done;
  known_data data;
  for (auto& run : plan->runs)
    if (auto known = folder->recall(run, data); !known) code = report_failure(known.error());
  if (code != done) return code;
  note_other_makers(*plan);
  if (auto written = folder->write_tables(plan->scenario, plan->axes, plan->rows()); !written)
    return report_failure(written.error());
  const auto ran = run_waiting(*plan, *folder, options);
  if (!ran) return report_failure(ran.error());
  if (!*ran) {
    fmt::print(stderr, "furlong: stopped; repeat the command to continue\n");
    return interrupted;
  }
  return conclude(*plan, *folder);
}

}  // namespace furlong::tools
