#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include "tools/page/page.hpp"
#include "tools/report/comparison.hpp"
#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/page_parts.hpp"
#include "tools/report/detail/sections.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

// The main table stands in the page itself, for readers without JavaScript.
std::string html_table(const page_json& of) {
  std::string groups;
  std::string heads;
  std::size_t last = 0;
  bool has_groups = false;
  const auto& columns = of["heads"];
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto group = columns[i].value("group", "");
    heads += std::string("<th scope=\"col\"") + (columns[i].value("numeric", false) ? " class=\"num\">" : ">") +
             escape_html(columns[i].value("name", "")) + "</th>";
    if (i + 1 < columns.size() && !group.empty() && columns[i + 1].value("group", "") == group) continue;
    groups += group.empty() ? "<td></td>"
                            : "<th scope=\"colgroup\" colspan=\"" + std::to_string(i + 1 - last) + "\">" +
                                  escape_html(group) + "</th>";
    has_groups = has_groups || !group.empty();
    last = i + 1;
  }
  std::string rows;
  for (const auto& row : of["rows"]) {
    std::string cells;
    for (std::size_t i = 0; i < row["cells"].size(); ++i) {
      const auto& cell = row["cells"][i];
      const bool plain = cell.is_string();
      const std::string tag = i == 0 ? "th scope=\"row\"" : "td";
      const std::string kind = std::string(columns[i].value("numeric", false) ? "num" : "") +
                               (!plain && cell.value("best", false) ? " best" : "");
      const auto value = plain || cell["value"].is_null() ? "" : " data-value=\"" + cell["value"].dump() + "\"";
      cells += "<" + tag + (kind.empty() ? "" : " class=\"" + kind + "\"") + value + ">" +
               escape_html(plain ? cell.get<std::string>() : cell.value("text", "")) + "</" + tag.substr(0, 2) + ">";
    }
    rows += "<tr>" + cells + "</tr>\n";
  }
  return "<div class=\"runs scroll\" tabindex=\"0\"><table><caption>" + escape_html(of.value("caption", "")) +
         "</caption><thead>\n" + (has_groups ? "<tr class=\"groups\">" + groups + "</tr>\n" : "") + "<tr>" + heads +
         "</tr>\n</thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string paragraph(const char* kind, const std::string& text) {
  return text.empty() ? "" : "<p class=\"" + std::string(kind) + "\">" + escape_html(text) + "</p>\n";
}

// The policy makes sure of what the page promises: it asks nothing of any network, and runs no script but its own.
std::string page_of(const std::string& kind, const std::string& title, const page_json& main, const page_json& data) {
  const auto script = std::string(chart_script) + std::string(report_script);
  const auto policy =
      "default-src 'none'; style-src " + policy_source(page_style) + "; script-src " + policy_source(script);
  auto text = data.dump(-1, ' ', false, page_json::error_handler_t::replace);
  for (auto at = text.find('<'); at != std::string::npos; at = text.find('<', at)) text.replace(at, 1, "\\u003c");
  std::string table;
  if (!main.is_null())
    table = "<h2>" + escape_html(main.value("title", "")) + "</h2>\n" + html_table(main) +
            paragraph("note", main.value("warning", ""));
  if (main.contains("notes"))
    for (const auto& note : main["notes"]) table += paragraph("hint", note);
  if (!main.is_null()) table += paragraph("hint", main.value("hint", ""));
  return fill_template(report_page, {{"title", escape_html(title)},
                                     {"kind", kind},
                                     {"policy", policy},
                                     {"style", page_style},
                                     {"table", table},
                                     {"data", text},
                                     {"script", script}});
}

page_json comparison_of(std::span<const run_record> runs) {
  const auto of = compare(runs, table_figures(runs));
  page_json made{{"title", "Figures"},
                 {"heads", {{{"name", "configuration"}}, {{"name", "algorithm"}}, {{"name", "runs"}}}},
                 {"rows", page_json::array()},
                 {"notes", notes_on(runs, of)}};
  for (const auto& one : of.configurations)
    made["rows"].push_back({{"cells", {one.label, one.algorithm, runs_text(runs, one)}}});
  for (const auto& column : of.columns) {
    made["heads"].push_back({{"name", column.figure.title}, {"group", column.figure.group}, {"numeric", true}});
    for (std::size_t i = 0; i < of.configurations.size(); ++i) {
      const auto text = text_of(of, column, i);
      made["rows"][i]["cells"].push_back(
          {{"text", text.mean + (text.spread.empty() ? "" : " \u00B1 " + text.spread) + text.unit},
           {"value", brief(column.estimates[i].mean)},
           {"best", column.best == i}});
    }
  }
  made["hint"] = explained_figures(runs);
  return made;
}

std::string title_of(std::span<const run_record> runs) {
  const auto& name = runs.front().name;
  if (runs.size() == 1) return name;
  const auto count = std::to_string(runs.size()) + " runs";
  const bool one_name = std::all_of(runs.begin(), runs.end(), [&](const auto& run) { return run.name == name; });
  return one_name ? name + ", " + count : "Comparison of " + count;
}

}  // namespace

page_json report_data(std::span<const run_record> runs) {
  const auto labels = labels_of(runs);
  auto data = figures_of(runs, configurations_of(runs));
  data["runs"] = page_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) data["runs"].push_back(run_data(runs[i], labels[i]));
  const auto has_attention = [](const run_record& run) {
    return std::any_of(run.rounds.begin(), run.rounds.end(), [](const auto& r) { return !r.attention.empty(); });
  };
  if (runs.size() > 1 && std::any_of(runs.begin(), runs.end(), has_attention))
    data["hint"] = "Attention, how much each update weighed, is drawn in the report of a single run.";
  if (runs.size() == 1 && runs.front().rounds.size() < 2)
    data["hint"] = counted(runs.front().rounds.size(), "round") + ": there are no curves to draw.";
  return data;
}

namespace {

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
  const bool alone = runs.size() == 1;
  return page_of(alone ? "Run report" : "Comparison", title_of(runs),
                 alone ? final_metrics(runs.front()) : comparison_of(runs), report_data(runs));
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
  page_json table{{"title", ""}, {"hint", text}, {"heads", page_json::array()}, {"rows", page_json::array()}};
  for (const auto& name : heads) table["heads"].push_back({{"name", name}, {"numeric", !table["heads"].empty()}});
  for (const auto& row : rows) table["rows"].push_back({{"cells", row}});
  return write_page(page_of("Table", title, table, {{"sections", page_json::array()}, {"runs", page_json::array()}}),
                    false, html);
}

}  // namespace furlong::tools
