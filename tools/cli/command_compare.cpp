// furlong compare
#include <algorithm>
#include <fmt/format.h>
#include <iostream>

#include "tools/cli/command_line.hpp"
#include "tools/cli/export_tables.hpp"
#include "tools/compare/compare_output.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/read_run.hpp"

namespace furlong::tools {

namespace {

enum class compare_format : std::uint8_t { text, json, csv };
enum class divided_by : std::uint8_t { nothing, group };

struct compare_options {
  std::vector<std::filesystem::path> runs;    ///< or folders of sweeps
  std::vector<std::string> figures;           ///< keys of summary.json; empty: all metrics of the evaluations
  divided_by grouping = divided_by::nothing;  ///< group: the figures of each group of clients
  std::string baseline;                       ///< a configuration; empty: the first
  std::filesystem::path curves;               ///< CSV of all rounds; empty: none
  compare_format format = compare_format::text;
};

const std::map<std::string, compare_format> compare_formats = {
    {"text", compare_format::text}, {"json", compare_format::json}, {"csv", compare_format::csv}};

const std::map<std::string, divided_by> divisions = {{"group", divided_by::group}};

std::string listed_labels(const std::vector<configuration>& configurations) {
  std::string text;
  for (const auto& setup : configurations) text += (text.empty() ? "\"" : ", \"") + setup.label + "\"";
  return text;
}

/// The configuration with that label or name; else the only one whose label contains the text.
result<std::size_t> find_baseline(const std::string& text, const std::vector<configuration>& configurations) {
  if (text.empty()) return 0;
  const auto only = [&](const auto& matches) -> std::optional<std::size_t> {
    if (std::ranges::count_if(configurations, matches) != 1) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find_if(configurations, matches) - configurations.begin());
  };
  if (const auto position = only([&](const auto& setup) { return setup.label == text; })) return *position;
  if (const auto position = only([&](const auto& setup) { return setup.name == text; })) return *position;
  if (const auto position = only([&](const auto& setup) { return setup.label.find(text) != std::string::npos; }))
    return *position;
  return fail(error::kind::usage, "--baseline " + text, "is not the label of one configuration",
              "name one of these: " + listed_labels(configurations));
}

result<comparison> compare_by(const compare_options& options, std::span<const run_record> runs) {
  const bool by_group = options.grouping == divided_by::group;
  if (by_group && std::ranges::all_of(runs, [](const auto& run) { return client_groups_of(run).empty(); }))
    return fail(error::kind::usage, "--by group", "no finished run has groups of clients",
                "set evaluation.client_groups in the scenario");
  auto figures = options.figures.empty() ? quality_figures(runs) : std::vector<compared_figure>();
  for (const auto& key : options.figures) figures.push_back(figure_named(key, runs));
  auto made = compare(runs, by_group ? by_client_group(runs, figures) : figures);
  for (const auto& key : options.figures)
    if (std::ranges::none_of(made.columns, [&](const auto& column) {
          return by_group ? column.figure.key.ends_with("." + key) : column.figure.key == key;
        }))
      return fail(error::kind::usage, "--metric " + key,
                  by_group ? "no group of a finished run has such a number"
                           : "no finished run has such a number in its summary",
                  "name a dotted key of summary.json, such as eval.seen.loss");
  return made;
}

/// The lines of all metrics.jsonl, with the configuration, folder and seed of their run.
result<std::vector<json>> all_rounds(std::span<const run_record> runs,
                                     const std::vector<configuration>& configurations) {
  std::vector<json> rows;
  for (const auto& setup : configurations)
    for (const auto* list : {&setup.runs, &setup.failed})
      for (const auto i : *list) {
        if (runs[i].rounds.empty()) continue;
        auto rounds = read_rounds(run_directory(runs[i].directory));
        if (!rounds) return tl::unexpected(rounds.error());
        for (const auto& round : *rounds) {
          json row = {{"configuration", setup.label},
                      {"run", runs[i].directory.string()},
                      {"seed", runs[i].seed},
                      {"state", state_word(runs[i])}};
          row.update(round);
          rows.push_back(std::move(row));
        }
      }
  return rows;
}

result<void> write_curves(const std::filesystem::path& file, std::span<const run_record> runs,
                          const std::vector<configuration>& configurations) {
  const auto rows = all_rounds(runs, configurations);
  if (!rows) return tl::unexpected(rows.error());
  return write_bytes_atomically(file, curves_csv(*rows));
}

int compare_command(const compare_options& options) {
  const auto runs = read_runs(options.runs);
  if (!runs) return report_failure(runs.error());
  const auto made = compare_by(options, *runs);
  if (!made) return report_failure(made.error());
  if (made->configurations.empty())
    return report_failure({error::kind::data, options.runs.front().string(), "has no runs yet", "let the sweep go on"});
  const auto baseline = find_baseline(options.baseline, made->configurations);
  if (!baseline) return report_failure(baseline.error());
  if (!options.curves.empty())
    if (auto written = write_curves(options.curves, *runs, made->configurations); !written)
      return report_failure(written.error());
  switch (options.format) {
    case compare_format::text: std::cout << compare_text(*runs, *made, *baseline); break;
    case compare_format::json: std::cout << json_text(compare_json(*runs, *made, *baseline)) << '\n'; break;
    case compare_format::csv: std::cout << compare_csv(*made, *baseline) << '\n'; break;
  }
  return done;
}

}  // namespace

void add_compare(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "compare", "compare configurations: means over seeds, intervals, paired differences",
                  compare_command);
  sub->add_option("runs", options->runs, "run directories, or folders of sweeps")
      ->required()
      ->option_text("RUN|SWEEP...");
  repeated(sub->add_option(
               "--metric", options->figures,
               "a number of summary.json, such as eval.unseen.rmse or bytes_up; repeatable (default: all metrics of "
               "the evaluations)"),
           "KEY");
  sub->add_option("--by", options->grouping, "group: the figures of each of evaluation.client_groups apart")
      ->transform(one_of(divisions))
      ->option_text("group");
  sub->add_option(
         "--baseline", options->baseline,
         "the configuration that the others are compared with: its label, or a part of it (default: the first)")
      ->option_text("LABEL");
  sub->add_option("--curves", options->curves, "figures of all rounds of all runs, as CSV")->option_text("FILE");
  sub->add_option("--format", options->format, "output (default text)")
      ->transform(one_of(compare_formats))
      ->option_text("text|json|csv");
}

}  // namespace furlong::tools
