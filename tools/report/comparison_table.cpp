#include <algorithm>

#include "tools/report/comparison.hpp"
#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/sections.hpp"
#include "tools/report/report.hpp"
#include "tools/report/text_table.hpp"

namespace furlong::tools {

namespace {

// Means, spreads and units each below each other.
std::vector<std::string> aligned_cells(const comparison& of, const compared_column& column) {
  std::vector<estimate_text> texts;
  for (std::size_t i = 0; i < of.configurations.size(); ++i) texts.push_back(text_of(of, column, i));
  std::size_t spread = 0;
  std::size_t unit = 0;
  for (const auto& text : texts) {
    spread = std::max(spread, columns_of(text.spread));
    unit = std::max(unit, columns_of(text.unit));
  }
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto& text = texts[i];
    auto cell = text.mean == written({}, number_style::plain) ? std::string("-") : text.mean;
    const auto spread_text = text.spread.empty() ? "" : " +- " + padded(text.spread, spread, false);
    cell += padded(spread_text + text.unit, spread > 0 ? unit + spread + 4 : unit, true);
    if (column.best) cell += *column.best == i ? "*" : " ";
    cells.push_back(std::move(cell));
  }
  return cells;
}

bool labels_tell_algorithms(const std::vector<configuration>& all) {
  return std::ranges::all_of(all, [](const auto& one) { return one.label.find(one.algorithm) != std::string::npos; });
}

// What distinguishes configurations, and which runs their figures are from.
std::vector<text_column> leading_columns(std::span<const run_record> runs, const comparison& of) {
  const auto& all = of.configurations;
  std::vector<text_column> made;
  const auto add = [&](const char* title, bool left, const auto& text) {
    text_column column{"", title, {}, left};
    for (const auto& one : all) column.cells.push_back(text(one));
    made.push_back(std::move(column));
  };
  add("configuration", true, [](const auto& one) { return one.label; });
  if (!labels_tell_algorithms(all)) add("algorithm", true, [](const auto& one) { return one.algorithm; });
  if (std::ranges::any_of(all, [](const auto& one) { return one.runs.size() != 1 || !one.failed.empty(); }))
    add("runs", true, [&](const auto& one) { return runs_text(runs, one); });
  if (std::ranges::any_of(all, [&](const auto& one) { return !best_rounds_text(runs, one).empty(); }))
    add("best round", false, [&](const auto& one) {
      const auto text = best_rounds_text(runs, one);
      return text.empty() ? std::string("-") : text;
    });
  return made;
}

bool all_alike(const std::vector<std::string>& cells) {
  return std::ranges::all_of(cells, [&](const auto& one) { return one == cells.front(); });
}

}  // namespace

page_json comparison_json(std::span<const run_record> runs) {
  const auto of = compare(runs, table_figures(runs));
  const auto size = of.configurations.size();
  page_json made{{"title", "Figures"}, {"heads", page_json::array()}, {"rows", page_json::array()}};
  made["rows"].get_ref<page_json::array_t&>().assign(size, {{"cells", page_json::array()}});
  std::string same;
  std::string same_group;
  bool spreads = false;
  const auto add = [&](const std::string& title, const std::string& group, bool numeric, const auto& cell) {
    made["heads"].push_back({{"name", title}, {"group", group}, {"numeric", numeric}});
    for (std::size_t i = 0; i < size; ++i) made["rows"][i]["cells"].push_back(cell(i));
  };
  const auto is_shared = [&](const std::string& group, const std::string& title,
                             const std::vector<std::string>& cells) {
    if (size < 2 || !all_alike(cells)) return false;
    if (same.empty())
      same = "The same in all configurations: ";
    else
      same.append(group == same_group ? ", " : "; ");
    if (group != same_group && !group.empty()) same.append(group).append(": ");
    same.append(title).append(" ").append(cells.front());
    same_group = group;
    return true;
  };
  for (const auto& column : leading_columns(runs, of))
    if (!is_shared("", column.title, column.cells))
      add(column.title, "", !column.left, [&](std::size_t i) { return column.cells[i]; });
  for (const auto& column : of.columns) {
    std::vector<estimate_text> texts;
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < size; ++i) {
      texts.push_back(text_of(of, column, i));
      spreads = spreads || !texts.back().spread.empty();
      cells.push_back(texts[i].mean + (texts[i].spread.empty() ? "" : " \u00B1 " + texts[i].spread) + texts[i].unit);
    }
    const auto& figure = column.figure;
    if (is_shared(figure.group, figure.title, cells)) continue;
    const bool percent = is_percentage(figure.style);  // a narrow column has its unit above
    for (auto& text : texts)
      if (percent && text.unit.starts_with(" %")) text.unit.erase(0, 2);
    add(figure.title + (percent ? " %" : ""), figure.group, true, [&](std::size_t i) {
      return page_json{{"text", texts[i].mean + texts[i].unit},
                       {"spread", texts[i].spread.empty() ? "" : "\u00B1" + texts[i].spread},
                       {"value", brief(column.estimates[i].mean)},
                       {"best", column.best == i}};
    });
  }
  made["notes"] = notes_on(runs, of);
  if (spreads)
    made["notes"].push_back("Figures are means over the seeds, \u00B1 the standard deviation of the sample.");
  if (!same.empty()) made["notes"].push_back(same + ".");
  made["hint"] = explained_figures(runs);
  return made;
}

std::string comparison_table(std::span<const run_record> runs) {
  if (runs.empty()) return {};
  const auto of = compare(runs, table_figures(runs));
  auto columns = leading_columns(runs, of);
  for (const auto& column : of.columns)
    columns.push_back(
        {column.figure.group, column.figure.title + (column.best ? " " : ""), aligned_cells(of, column), false});
  auto out = text_table(std::move(columns));
  for (const auto& note : notes_on(runs, of)) out += harmless(note) + '\n';
  return out;
}

}  // namespace furlong::tools
