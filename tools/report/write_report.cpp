#include <algorithm>

#include "base/durable_file.hpp"
#include "tools/compare/comparison.hpp"
#include "tools/compare/comparison_table.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/compare/text_table.hpp"
#include "tools/page/page.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/report/detail/page_parts.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

// The policy makes sure of what the page promises: it asks nothing of any network, and runs no script but its own.
// `text` is for readers without JavaScript.
std::string page_of(const std::string& kind, const std::string& title, const page_json& data, const std::string& text) {
  const auto script = std::string(chart_script) + std::string(report_script);
  const auto policy =
      "default-src 'none'; style-src " + policy_source(page_style) + "; script-src " + policy_source(script);
  auto json = data.dump(-1, ' ', false, page_json::error_handler_t::replace);
  for (auto position = json.find('<'); position != std::string::npos; position = json.find('<', position))
    json.replace(position, 1, "\\u003c");
  return fill_template(report_page, {{"title", escape_html(title)},
                                     {"kind", kind},
                                     {"policy", policy},
                                     {"style", page_style},
                                     {"text", escape_html(text)},
                                     {"data", json},
                                     {"script", script}});
}

std::string title_of(std::span<const run_record> runs) {
  const auto& name = runs.front().name;
  if (runs.size() == 1) return name;
  const auto count = std::to_string(runs.size()) + " runs";
  const bool one_name = std::ranges::all_of(runs, [&](const auto& run) { return run.name == name; });
  return one_name ? name + ", " + count : "Comparison of " + count;
}

bool shows_private_values(std::span<const run_record> runs) {
  return std::ranges::any_of(runs, [](const run_record& run) { return run.embeddings.has_value(); });
}

result<void> write_page(const std::string& content, bool for_the_owner_alone, const std::filesystem::path& html) {
  // A suffix of its own, so that two writers can meet.
  const auto written =
      durable_file::begin(html, {for_the_owner_alone ? 0600U : 0666U}, process_suffix())
          .and_then([&](durable_file file) { return file.write(content).and_then([&] { return file.replace(); }); });
  // A folder may have no right to be listed.
  if (written || written.error().step == file_step::open_path) return {};
  return fail(error::kind::runtime, html.string(), "cannot be written: " + written.error().reason.message());
}

}  // namespace

page_json report_data(std::span<const run_record> runs) {
  const reported_runs report(runs);
  auto data = figures_of(report);
  data["main"] = report.is_one() ? final_metrics(runs.front()) : comparison_json(runs);
  data["runs"] = page_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) data["runs"].push_back(run_data(runs[i], report.labels[i]));
  for (const auto& run : runs)
    if (!report.is_one() && std::ranges::any_of(run.rounds, [](const auto& round) { return !round.attention.empty(); }))
      data["hint"] = "Attention, how much each update weighed, is drawn in the report of a single run.";
  if (const auto rounds = runs.front().rounds.size(); report.is_one() && rounds < 2)
    data["hint"] = counted(rounds, "round") + ": there are no curves to draw.";
  return data;
}

std::string report_html(std::span<const run_record> runs) {
  const bool alone = runs.size() == 1;
  return page_of(alone ? "Run report" : "Comparison", title_of(runs), report_data(runs), comparison_table(runs));
}

result<void> write_report(std::span<const run_record> runs, const std::filesystem::path& html) {
  if (runs.empty()) return fail(error::kind::usage, "", "there is no run to report on", "name a run directory or more");
  return write_page(report_html(runs), shows_private_values(runs), html);
}

result<void> write_table(const std::string& title, const std::string& text, const std::vector<std::string>& heads,
                         const std::vector<std::vector<std::string>>& rows, const std::filesystem::path& html) {
  auto table = new_table("", "", {});
  table["hint"] = text;
  std::vector<text_column> columns;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    add_heads(table, {(i > 0 ? "#" : "") + heads[i]});
    columns.push_back({"", heads[i], {}, i == 0});
    for (const auto& row : rows) columns.back().cells.push_back(row[i]);
  }
  for (const auto& row : rows) add_row(table, row);
  const page_json data{{"main", table}, {"sections", page_json::array()}, {"runs", page_json::array()}};
  return write_page(page_of("Table", title, data, text_table(columns)), false, html);
}

}  // namespace furlong::tools
