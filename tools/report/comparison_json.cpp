#include <algorithm>

#include "tools/compare/comparison_table.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/figures.hpp"

namespace furlong::tools {

page_json comparison_json(std::span<const run_record> runs) {
  const auto compared = compare(runs, table_figures(runs));
  const auto size = compared.configurations.size();
  auto made = new_table("Figures", "", {});
  std::vector<page_json> rows(size, page_json::array());
  std::string same;
  std::string same_group;
  bool spreads = false;
  // A column of texts, which the table shows as `cells`; a text that all configurations share is in a note instead.
  const auto add = [&](const std::string& head, const std::string& group, const std::string& title,
                       const std::vector<std::string>& texts, const page_json& cells) {
    if (size < 2 || std::ranges::any_of(texts, [&](const auto& text) { return text != texts.front(); })) {
      add_heads(made, {head}, group);
      for (std::size_t i = 0; i < size; ++i) rows[i].push_back(cells[i]);
      return;
    }
    if (!same.empty()) same += group == same_group ? ", " : "; ";
    if (group != same_group && !group.empty()) same.append(group).append(": ");
    same.append(title).append(" ").append(texts.front());
    same_group = group;
  };
  for (const auto& column : leading_columns(runs, compared))
    add((column.left ? "" : "#") + column.title, "", column.title, column.cells, column.cells);
  for (const auto& column : compared.columns) {
    const bool percent = is_percentage(column.figure.style);
    std::vector<std::string> texts;
    auto cells = page_json::array();
    for (std::size_t i = 0; i < size; ++i) {
      auto [mean, spread, unit] = text_of(compared, column, i);
      spreads = spreads || !spread.empty();
      texts.push_back(mean + (spread.empty() ? "" : " \u00B1 " + spread) + unit);
      if (percent && unit.starts_with(" %")) unit.erase(0, 2);  // a narrow column has its unit above
      cells.push_back({{"text", mean + unit},
                       {"spread", spread.empty() ? "" : "\u00B1" + spread},
                       {"value", brief(column.estimates[i].mean)},
                       {"best", column.best == i}});
    }
    const auto& figure = column.figure;
    add("#" + figure.title + (percent ? " %" : ""), figure.group, figure.title, texts, cells);
  }
  for (auto& cells : rows) add_row(made, std::move(cells));
  made["notes"] = notes_on(runs, compared);
  if (spreads)
    made["notes"].push_back("Figures are means over the seeds, \u00B1 the standard deviation of the sample.");
  if (!same.empty()) made["notes"].push_back("The same in all configurations: " + same + ".");
  made["hint"] = explained_figures(runs);
  return made;
}

}  // namespace furlong::tools
