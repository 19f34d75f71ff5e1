// furlong report
#include <fmt/format.h>
#include <iostream>

#include "tools/cli/command_line.hpp"
#include "tools/cli/user_embeddings.hpp"
#include "tools/compare/comparison_table.hpp"
#include "tools/report/report.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/client_table.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/read_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

namespace {

struct report_options {
  std::vector<std::filesystem::path> runs;  ///< or folders of sweeps
  std::filesystem::path out;  ///< empty: report.html in the run directory, or comparison.html next to the first run
  bool embeddings = false;    ///< with a picture of the user embeddings, which are private values: the names above
                              ///< become report-private.html and comparison-private.html
  bool clients = false;       ///< with charts of all clients' quality and participation
  output_format format = output_format::text;
};

/// A report with private values has a separate name, so that it does not replace one that may be shared.
std::filesystem::path default_page(const report_options& options) {
  const std::string ending = options.embeddings ? "-private.html" : ".html";
  const auto first = std::filesystem::absolute(options.runs.front()).lexically_normal();
  const auto folder = first.has_filename() ? first : first.parent_path();
  return options.runs.size() == 1 ? folder / ("report" + ending) : folder.parent_path() / ("comparison" + ending);
}

/// {"run", "name", "status", "why", "summary"}: docs/schemas/report.schema.json.
json to_json(const run_record& run) {
  json out = {{"run", run.directory.string()},
              {"name", run.name},
              {"status", !run.summary      ? "interrupted"
                         : has_failed(run) ? "failed"
                                           : "done"}};
  if (has_failed(run)) out["why"] = failure_of(run);
  out["summary"] = read_object(run_directory(run.directory).summary());
  return out;
}

void print_json(const std::vector<run_record>& runs, const std::filesystem::path& page, bool is_private) {
  json out = {{"report", page.string()}, {"private", is_private}, {"runs", json::array()}};
  for (const auto& run : runs) out["runs"].push_back(to_json(run));
  std::cout << json_text(out) << '\n';
}

int report_command(const report_options& options) {
  auto read = read_runs(options.runs);
  if (!read) return report_failure(read.error());
  auto& runs = *read;
  for (const auto& run : runs)
    for (const auto& note : run.notes) fmt::print(stderr, "note: {}: {}\n", for_people(run.directory.string()), note);
  if (options.embeddings)
    if (auto added = add_embeddings(runs); !added) return report_failure(added.error());
  if (options.clients)
    if (auto added = add_clients(runs); !added) return report_failure(added.error());
  const auto out = options.out.empty() ? default_page(options) : options.out;
  if (std::filesystem::exists(out) && !std::filesystem::is_regular_file(out))
    return report_failure({error::kind::usage, out.string(), "is no file", "name another with --out"});
  if (auto written = write_report(runs, out); !written) return report_failure(written.error());
  if (options.format == output_format::json) {
    print_json(runs, out, options.embeddings);
    return done;
  }
  std::cout << comparison_table(runs);
  fmt::print("report: {}\n", out.string());
  if (options.embeddings) fmt::print("note: this file shows private values; it reveals which users are similar\n");
  return done;
}

}  // namespace

void add_report(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "report", "write one HTML file about a run, or comparing several", report_command);
  sub->add_option("runs", options->runs, "run directories, or folders of sweeps")
      ->required()
      ->option_text("RUN|SWEEP...");
  sub->add_option("--out", options->out, "the file (default: report.html in the run, comparison.html for several)")
      ->option_text("FILE");
  sub->add_flag("--embeddings", options->embeddings,
                "with a picture of the user embeddings: it shows private values, in report-private.html");
  sub->add_flag(
      "--clients", options->clients,
      "with the distribution of quality over clients, who gains and who loses, and who takes part: scores all "
      "clients of each run");
  add_format(sub, options->format);
}

}  // namespace furlong::tools
