#include "tools/compare/comparison_table.hpp"

#include <algorithm>

namespace furlong::tools {

namespace {

// Means, spreads and units each below each other.
std::vector<std::string> aligned_cells(const comparison& compared, const compared_column& column) {
  std::vector<estimate_text> texts;
  for (std::size_t i = 0; i < compared.configurations.size(); ++i) texts.push_back(text_of(compared, column, i));
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

bool labels_tell_algorithms(const std::vector<configuration>& setups) {
  return std::ranges::all_of(setups,
                             [](const auto& setup) { return setup.label.find(setup.algorithm) != std::string::npos; });
}

}  // namespace

std::vector<text_column> leading_columns(std::span<const run_record> runs, const comparison& compared) {
  const auto& setups = compared.configurations;
  std::vector<text_column> made;
  const auto add = [&](const char* title, bool left, const auto& text) {
    text_column column{"", title, {}, left};
    for (const auto& setup : setups) column.cells.push_back(text(setup));
    made.push_back(std::move(column));
  };
  add("configuration", true, [](const auto& setup) { return setup.label; });
  if (!labels_tell_algorithms(setups)) add("algorithm", true, [](const auto& setup) { return setup.algorithm; });
  if (std::ranges::any_of(setups, [](const auto& setup) { return setup.runs.size() != 1 || !setup.failed.empty(); }))
    add("runs", true, [&](const auto& setup) { return runs_text(runs, setup); });
  if (std::ranges::any_of(setups, [&](const auto& setup) { return !best_rounds_text(runs, setup).empty(); }))
    add("best round", false, [&](const auto& setup) {
      const auto text = best_rounds_text(runs, setup);
      return text.empty() ? std::string("-") : text;
    });
  return made;
}

std::string comparison_table(std::span<const run_record> runs) {
  if (runs.empty()) return {};
  const auto compared = compare(runs, table_figures(runs));
  auto columns = leading_columns(runs, compared);
  for (const auto& column : compared.columns)
    columns.push_back(
        {column.figure.group, column.figure.title + (column.best ? " " : ""), aligned_cells(compared, column), false});
  auto out = text_table(std::move(columns));
  for (const auto& note : notes_on(runs, compared)) out += harmless(note) + '\n';
  return out;
}

}  // namespace furlong::tools
