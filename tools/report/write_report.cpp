#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include "tools/report/comparison.hpp"
#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/report/detail/html.hpp"
#include "tools/report/detail/sections.hpp"
#include "tools/report/detail/style.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

// The policy makes sure of what the page promises: it asks nothing of any network.
std::string head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escape(title) + "</title>\n<style>" + std::string(style_sheet()) + "</style></head>\n<body><main>\n";
}

std::string foot() {
  return "<footer>Written by <code>furlong report</code>. This file is complete in itself and opens offline.</footer>\n"
         "</main><script>" +
         std::string(hover_script()) + "</script></body></html>\n";
}

std::string figures(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  std::string out;
  std::size_t id = 0;
  for (const auto& group : figures_of(runs, labels)) {
    out += "<h2>" + escape(group.title) + "</h2>\n<div class=\"plots\">\n";
    for (const auto& plot : group.plots) out += std::visit([&](const auto& data) { return render(data, ++id); }, plot);
    out += "</div>\n";
    out += hint(group.note);
  }
  return out;
}

// Two sections beside each other where there is room.
std::string pair(const std::string& first, const std::string& second) {
  if (first.empty() && second.empty()) return {};
  return "<div class=\"pair\"><section>" + first + "</section><section>" + second + "</section></div>\n";
}

std::string one_run(const run_record& run) {
  std::string out = "<header><p class=\"over\">Run report</p><h1>" + escape(run.name) + "</h1>\n" + about_line(run) +
                    notes_of(run) + "</header>\n" + cards(run) + final_metrics(run);
  out += figures({&run, 1}, labels_of({&run, 1}));
  if (run.rounds.size() < 2) out += hint(counted(run.rounds.size(), "round") + ": there are no curves to draw.");
  out += pair(accounting(run), rejections(run) + participation_summary(run) + private_state(run)) + events(run) +
         identity(run);
  if (!run.scenario.empty()) out += "<h2>Scenario</h2>\n" + scenario_text(run);
  return out;
}

std::string cell_text(const comparison& of, const compared_column& column, std::size_t i) {
  const auto text = text_of(of, column, i);
  return text.mean + (text.spread.empty() ? "" : " \u00B1 " + text.spread) + text.unit;
}

std::string comparison_section(std::span<const run_record> runs) {
  const auto of = compare(runs, table_figures(runs));
  std::vector<table_head> heads{{"configuration", "", false}, {"algorithm", "", false}, {"runs", "", false}};
  for (const auto& column : of.columns)
    heads.push_back({escape(column.figure.title), escape(column.figure.group), true});
  std::vector<table_row> rows;
  for (std::size_t i = 0; i < of.configurations.size(); ++i) {
    const auto& one = of.configurations[i];
    table_row row{{text_cell(one.label), text_cell(one.algorithm), text_cell(runs_text(runs, one))}, ""};
    for (const auto& column : of.columns)
      row.cells.push_back({escape(cell_text(of, column, i)), true, column.best == i});
    rows.push_back(std::move(row));
  }
  std::string notes;
  for (const auto& note : notes_on(runs, of)) notes += hint(escape(note));
  return "<div class=\"runs\">" + html_table("", heads, rows) + "</div>\n" + notes + hint(explained_figures(runs));
}

std::string run_section(const run_record& run, const std::string& label, std::size_t index) {
  std::string out = "<section class=\"run\"><header><h3>" + swatch(index) + escape(label) + "</h3>" + about_line(run) +
                    notes_of(run) + "</header>\n" + cards(run);
  const auto more =
      accounting(run) + rejections(run) + participation_summary(run) + private_state(run) + events(run) + identity(run);
  if (!more.empty())
    out +=
        "<details><summary>Accounting, events and hashes</summary><div class=\"inside\">" + more + "</div></details>\n";
  return out + scenario_text(run) + "</section>\n";
}

std::string title_of(std::span<const run_record> runs) {
  const auto& name = runs.front().name;
  if (runs.size() == 1) return name;
  const auto count = std::to_string(runs.size()) + " runs";
  const bool one_name = std::all_of(runs.begin(), runs.end(), [&](const auto& run) { return run.name == name; });
  return one_name ? name + ", " + count : "Comparison of " + count;
}

// What only the page of a single run draws.
std::string left_out(std::span<const run_record> runs) {
  const auto has_attention = [](const run_record& run) {
    return std::any_of(run.rounds.begin(), run.rounds.end(),
                       [](const auto& round) { return !round.attention.empty(); });
  };
  if (std::none_of(runs.begin(), runs.end(), has_attention)) return {};
  return hint("Attention, how much each update weighed, is drawn in the report of a single run.");
}

std::string several_runs(std::span<const run_record> runs) {
  const auto labels = labels_of(runs);
  std::string out = "<header><p class=\"over\">Comparison</p><h1>" + escape(title_of(runs)) + "</h1></header>\n" +
                    comparison_section(runs) + figures(runs, labels) + left_out(runs) + "<h2>Runs</h2>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) out += run_section(runs[i], labels[i], i);
  return out;
}

bool shows_private_values(std::span<const run_record> runs) {
  return std::any_of(runs.begin(), runs.end(), [](const run_record& run) { return run.embeddings.has_value(); });
}

// An empty file, from the first its owner's alone where that is asked for.
bool create(const std::filesystem::path& file, bool for_the_owner_alone) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);  // left by a process of the same number that was killed
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, for_the_owner_alone ? 0600 : 0666);
  return made >= 0 && ::close(made) == 0;
}

}  // namespace

std::string report_html(std::span<const run_record> runs) {
  return head(title_of(runs)) + (runs.size() == 1 ? one_run(runs.front()) : several_runs(runs)) + foot();
}

namespace {

result<void> write_page(const std::string& content, bool for_the_owner_alone, const std::filesystem::path& html) {
  // Beside the file, so that the rename stays within one file system; a name of its own, so that two writers can meet.
  auto draft = html;
  draft += "." + std::to_string(::getpid()) + ".tmp";
  const auto refuse = [&](const std::string& why) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    return fail(error::kind::runtime, html.string(), "cannot be written: " + why);
  };
  errno = 0;
  if (!create(draft, for_the_owner_alone)) return refuse(std::strerror(errno));
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  if (!out) return refuse(errno != 0 ? std::strerror(errno) : "the device refused");
  std::error_code problem;
  std::filesystem::rename(draft, html, problem);
  if (problem) return refuse(problem.message());
  return {};
}

}  // namespace

result<void> write_report(std::span<const run_record> runs, const std::filesystem::path& html) {
  if (runs.empty()) return fail(error::kind::usage, "", "there is no run to report on", "name a run directory or more");
  return write_page(report_html(runs), shows_private_values(runs), html);
}

result<void> write_table(const std::string& title, const std::string& text, const std::vector<std::string>& heads,
                         const std::vector<std::vector<std::string>>& rows, const std::filesystem::path& html) {
  std::vector<table_head> columns;
  for (const auto& name : heads) columns.push_back({escape(name), "", !columns.empty()});
  std::vector<table_row> lines;
  for (const auto& row : rows) {
    auto& cells = lines.emplace_back().cells;
    for (const auto& cell : row) cells.push_back(cells.empty() ? text_cell(cell) : number_cell(cell));
  }
  return write_page(head(title) + "<header><h1>" + escape(title) + "</h1></header>\n" + hint(escape(text)) +
                        html_table("", columns, lines) + foot(),
                    false, html);
}

}  // namespace furlong::tools
