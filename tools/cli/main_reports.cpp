// The part of the command line for reports and comparisons of runs.
#include "tools/cli/command_line.hpp"

namespace furlong::tools {

namespace {

const std::map<std::string, compare_format> compare_formats = {
    {"text", compare_format::text}, {"json", compare_format::json}, {"csv", compare_format::csv}};

void add_report(CLI::App& app, command& chosen) {
  auto options = std::make_shared<report_options>();
  auto* sub = app.add_subcommand("report", "write one HTML file about a run, or comparing several");
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
  sub->callback([options, &chosen] { chosen = [options] { return report_command(*options); }; });
}

void add_compare(CLI::App& app, command& chosen) {
  auto options = std::make_shared<compare_options>();
  auto* sub = app.add_subcommand("compare", "compare configurations: means over seeds, intervals, paired differences");
  sub->add_option("runs", options->runs, "run directories, or folders of sweeps")
      ->required()
      ->option_text("RUN|SWEEP...");
  sub->add_option("--metric", options->figures,
                  "a number of summary.json, such as eval.unseen.rmse or bytes_up; repeatable (default: all metrics of "
                  "the evaluations)")
      ->option_text("KEY")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  sub->add_option(
         "--baseline", options->baseline,
         "the configuration that the others are compared with: its label, or a part of it (default: the first)")
      ->option_text("LABEL");
  sub->add_option("--curves", options->curves, "figures of all rounds of all runs, as CSV")->option_text("FILE");
  sub->add_option("--format", options->format, "output (default text)")
      ->transform(one_of(compare_formats))
      ->option_text("text|json|csv");
  sub->callback([options, &chosen] { chosen = [options] { return compare_command(*options); }; });
}

}  // namespace

void add_reports(CLI::App& app, command& chosen) {
  add_report(app, chosen);
  add_compare(app, chosen);
}

}  // namespace furlong::tools
