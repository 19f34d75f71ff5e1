#include <algorithm>

#include "tools/report/detail/comparison.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

// A column as it is printed: heads and cells, all to be padded to one width.
struct printed_column {
  std::string group;
  std::string title;
  std::vector<std::string> cells;
  bool left = false;
  std::size_t width = 0;
};

// Characters on the terminal, for texts without wide or combining ones.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// What a file says must not steer the terminal.
std::string harmless(std::string text) {
  for (auto& c : text)
    if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F) c = '?';
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const auto size = columns_of(text);
  const std::string space(width > size ? width - size : 0, ' ');
  return left ? text + space : space + text;
}

void measure(printed_column& column) {
  column.width = columns_of(column.title);
  for (const auto& cell : column.cells) column.width = std::max(column.width, columns_of(cell));
}

std::vector<printed_column> print_columns(std::span<const run_record> runs) {
  std::vector<printed_column> printed;
  const auto name = [&](const char* title, const auto& text) {
    printed_column column{"", title, {}, true, 0};
    for (std::size_t i = 0; i < runs.size(); ++i) column.cells.push_back(harmless(text(i)));
    printed.push_back(std::move(column));
  };
  const auto labels = labels_of(runs);
  const auto is_algorithm = [&](std::size_t i) { return labels[i] == runs[i].algorithm; };
  bool named_by_algorithm = true;
  for (std::size_t i = 0; i < runs.size(); ++i) named_by_algorithm = named_by_algorithm && is_algorithm(i);
  if (!named_by_algorithm) name("run", [&](std::size_t i) { return labels[i]; });
  name("algorithm", [&](std::size_t i) { return runs[i].algorithm; });
  for (auto& column : compare(runs)) {
    const bool marks = std::any_of(column.best.begin(), column.best.end(), [](bool is) { return is; });
    // Marked or not, figures stay aligned.
    for (std::size_t i = 0; i < column.cells.size(); ++i) {
      if (column.cells[i] == written({}, number_style::plain)) column.cells[i] = "-";
      column.cells[i] += column.best[i] ? "*" : marks ? " " : "";
    }
    printed.push_back({column.group, column.title + (marks ? " " : ""), std::move(column.cells), false, 0});
  }
  for (auto& column : printed) measure(column);
  return printed;
}

constexpr std::size_t gap = 2;

// Each group's name, centred over its columns between dashes; makes the last one wider where the name needs it.
std::string group_line(std::vector<printed_column>& columns) {
  std::string line;
  for (std::size_t first = 0; first < columns.size();) {
    std::size_t end = first + 1;
    const auto& group = columns[first].group;
    while (end < columns.size() && !group.empty() && columns[end].group == group) ++end;
    std::size_t width = gap * (end - first - 1);
    for (std::size_t i = first; i < end; ++i) width += columns[i].width;
    if (group.size() > width) {
      columns[end - 1].width += group.size() - width;
      width = group.size();
    }
    const std::size_t free = width - group.size();
    const char fill = group.empty() || free < 4 ? ' ' : '-';
    std::string text(free / 2, fill);
    text += group;
    text.append(free - free / 2, fill);
    if (fill == '-') text[free / 2 - 1] = text[free / 2 + group.size()] = ' ';
    line += (first == 0 ? "" : std::string(gap, ' ')) + text;
    first = end;
  }
  return line;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::string comparison_table(std::span<const run_record> runs) {
  if (runs.empty()) return {};
  auto columns = print_columns(runs);
  std::string out = group_line(columns);
  end_line(out);
  const auto row = [&](const auto& cell) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      out += (i == 0 ? "" : std::string(gap, ' ')) + padded(cell(columns[i]), columns[i].width, columns[i].left);
    end_line(out);
  };
  row([](const printed_column& column) { return column.title; });
  row([](const printed_column& column) { return std::string(column.width, '-'); });
  for (std::size_t run = 0; run < runs.size(); ++run)
    row([&](const printed_column& column) { return column.cells[run]; });
  if (const auto warning = protocol_warning(runs); !warning.empty()) out += warning + '\n';
  return out;
}

}  // namespace furlong::tools
