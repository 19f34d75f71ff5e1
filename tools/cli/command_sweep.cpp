// furlong sweep
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "models/kernels/kernels.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/compare/comparison_table.hpp"
#include "tools/report/report.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/read_run.hpp"
#include "tools/runs/version.hpp"
#include "tools/sweep/sweep_plan.hpp"

namespace furlong::tools {

namespace {

/// Warns about finished runs whose results this process may not reproduce.
void note_other_makers(const sweep_plan& plan) {
  const std::pair<std::string, std::string> here(version, models::kernels().level);
  std::map<std::pair<std::string, std::string>, std::size_t> makers;
  for (const auto& run : plan.runs)
    if (const auto& summary = run.row.summary; !summary.is_null())
      ++makers[{summary.value("furlong", ""), summary.value("kernel_level", "")}];
  makers.erase(here);
  for (const auto& [maker, count] : makers)
    fmt::print(stderr,
               "note: {} of the finished runs {} computed by furlong {} with kernels of level {}, this is {} with {}: "
               "results may differ; runs whose folders are removed run again (FURLONG_KERNEL_LEVEL pins the level)\n",
               count, count == 1 ? "was" : "were", maker.first, maker.second, here.first, here.second);
}

/// Runs all unfinished runs. False: interrupted.
result<bool> run_waiting(sweep_plan& plan, const sweep_folder& folder, const many_runs_options& options) {
  std::vector<child_run> children;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    if (run.row.status != run_status::waiting) continue;
    auto child = folder.child_of(run, options.threads, options.accept_changed_code);
    if (!child) return tl::unexpected(child.error());
    children.push_back(std::move(*child));
    indices.push_back(i);
  }
  const auto kept = plan.runs.size() - children.size();
  fmt::print(stderr, "{} runs, {} finished before\n", plan.runs.size(), kept);
  std::size_t ended = kept;
  result<void> written;
  auto ran = run_children(children, or_one_per_core(options.jobs), [&](std::size_t child, const child_end& end) {
    auto& run = plan.runs[indices[child]];
    folder.take(run, end.code);
    plan.notes.print_new(run.row.run, notes_in(text_of(folder.log(run, ".stderr"))));
    if (run.row.status == run_status::waiting) return;
    fmt::print(stderr, "[{}/{}] {} {} ({:.1f} s)\n", ++ended, plan.runs.size(), run.row.run,
               run.row.status == run_status::done ? "done" : failure_word(run.row.why), end.seconds);
    if (auto tables = folder.write_tables(plan.axes, plan.rows()); !tables) written = tables;
  });
  if (!written) return tl::unexpected(written.error());
  return ran;
}

int conclude(const sweep_plan& plan, const sweep_folder& folder, output_format format) {
  const auto rows = plan.rows();
  if (auto written = folder.write_tables(plan.axes, rows); !written) return report_failure(written.error());
  const std::filesystem::path root = folder.json_file().parent_path();
  const auto runs = read_runs({&root, 1});
  if (!runs) return report_failure(runs.error());
  if (auto written = write_report(*runs, folder.report()); !written) return report_failure(written.error());
  if (format == output_format::json) {
    fmt::print("{}\n", json_text(sweep_json(plan.axes, rows)));
  } else {
    fmt::print("{}report: {}\ntable: {}\n", comparison_table(*runs), folder.report().string(),
               folder.csv_file().string());
  }
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

int sweep_command(const many_runs_options& options) {
  auto plan = make_plan(options.request);
  if (!plan) return usage;
  const auto root =
      options.out.empty() ? std::filesystem::path("runs") / (plan->runs.front().row.scenario + "-sweep") : options.out;
  const auto folder = sweep_folder::open(root);
  if (!folder) return report_failure(folder.error());
  int code = done;
  known_data data;
  for (auto& run : plan->runs)
    if (auto known = folder->recall(run, data, options.accept_changed_code); !known)
      code = report_failure(known.error());
  if (code != done) return code;
  plan->notes.print(plan->runs.size());
  note_other_makers(*plan);
  if (auto written = folder->write_tables(plan->axes, plan->rows()); !written) return report_failure(written.error());
  const auto ran = run_waiting(*plan, *folder, options);
  if (!ran) return report_failure(ran.error());
  if (!*ran) {
    fmt::print(stderr, "furlong: stopped; repeat the command to continue\n");
    return interrupted;
  }
  return conclude(*plan, *folder, options.format);
}

}  // namespace

void add_sweep(CLI::App& app, command& chosen) {
  const auto [sub, options] = add_command(
      app, chosen, "sweep", "run scenarios for every combination of some values, and compare", sweep_command);
  sub->add_option("scenarios", options->request.scenarios, "scenario files, each with a name of its own")
      ->required()
      ->option_text("SCENARIO...");
  add_grid(sub, options->request.grid);
  add_many_runs(sub, *options, "runs every combination with each of them",
                "folder of the runs (default runs/NAME-sweep, NAME of the first scenario)");
}

}  // namespace furlong::tools
