#include <algorithm>

#include "tools/compare/comparison_table.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/sections.hpp"

namespace furlong::tools {

namespace {

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

}  // namespace furlong::tools
