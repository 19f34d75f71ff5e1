#include "tools/cli/closing_table.hpp"

#include <fmt/format.h>
#include <iostream>
#include <string>

#include "tools/compare/comparison_table.hpp"
#include "tools/report/report.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/privacy_json.hpp"
#include "tools/runs/read_run.hpp"
#include "tools/runs/run_end.hpp"

namespace furlong::tools {

namespace {

void print_closing(const run_record& record, const json& summary, const run_directory& folder,
                   const federated::run_outcome& outcome, output_format format) {
  if (format == output_format::json) {
    std::cout << json_text(summary) << '\n';
    return;
  }
  std::cout << comparison_table({&record, 1});
  if (summary.contains("privacy")) fmt::print("{}\n", privacy_line(summary["privacy"]));
  if (summary.contains("privacy") && summary["privacy"].value("spent", false))
    fmt::print("the run ended at {} rounds: another one could exceed privacy.target_epsilon\n", outcome.state.version);
  fmt::print("{:.1f} s, of these {:.1f} s training; model {}\nreport: {}\n", outcome.state.wall_seconds,
             outcome.state.train_seconds, summary["model_sha256"].get<std::string>().substr(0, 16),
             folder.report().string());
}

/// summary.json and report.html of a run that has ended; the closing table on stdout.
result<void> conclude(const prepared_run& run, const run_directory& folder, const federated::run_outcome& outcome,
                      const std::optional<complaint>& wrong, federated::private_store& store,
                      std::optional<output_format> format) {
  const auto summary = write_summary(run, folder, outcome, wrong, store);
  if (!summary) return tl::unexpected(summary.error());
  auto record = read_run(folder.root());
  if (!record) return tl::unexpected(record.error());
  if (auto written = write_report({&*record, 1}, folder.report()); !written) return written;
  if (format) print_closing(*record, *summary, folder, outcome, *format);
  return {};
}

}  // namespace

int end_run(const prepared_run& run, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, std::optional<output_format> format) {
  if (!outcome) return report_failure(failure_of_run(run, folder, outcome.error()));
  if (outcome->interrupted) return report_stop(outcome->state.version, folder);
  const auto wrong = verdict(run, *outcome);
  if (auto concluded = conclude(run, folder, *outcome, wrong, store, format); !concluded)
    return report_failure(concluded.error());
  warn_of_end(run, outcome->state);
  if (wrong) return report_failure({error::kind::runtime, folder.root().string(), wrong->why, wrong->fix});
  return done;
}

}  // namespace furlong::tools
