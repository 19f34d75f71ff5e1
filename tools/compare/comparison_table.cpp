#include "tools/compare/comparison_table.hpp"

#include <algorithm>

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

}  // namespace

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
