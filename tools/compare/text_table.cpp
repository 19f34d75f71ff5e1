#include "tools/compare/text_table.hpp"

#include <algorithm>

namespace furlong::tools {

namespace {

constexpr std::size_t gap = 2;

std::size_t width_of(const text_column& column) {
  auto width = columns_of(column.title);
  for (const auto& cell : column.cells) width = std::max(width, columns_of(cell));
  return width;
}

// Each group's name, centred over its columns between dashes; makes the last one wider where the name needs it.
std::string group_line(const std::vector<text_column>& columns, std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t first = 0; first < columns.size();) {
    std::size_t end = first + 1;
    const auto& group = columns[first].group;
    while (end < columns.size() && !group.empty() && columns[end].group == group) ++end;
    std::size_t width = gap * (end - first - 1);
    for (std::size_t i = first; i < end; ++i) width += widths[i];
    if (group.size() > width) {
      widths[end - 1] += group.size() - width;
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

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const auto size = columns_of(text);
  const std::string space(width > size ? width - size : 0, ' ');
  return left ? text + space : space + text;
}

std::string harmless(std::string text) {
  for (auto& c : text)
    if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F) c = '?';
  return text;
}

std::string text_table(std::vector<text_column> columns) {
  if (columns.empty()) return {};
  std::vector<std::size_t> widths;
  for (auto& column : columns) {
    column.title = harmless(std::move(column.title));
    for (auto& cell : column.cells) cell = harmless(std::move(cell));
    widths.push_back(width_of(column));
  }
  std::string out;
  if (std::ranges::any_of(columns, [](const auto& column) { return !column.group.empty(); })) {
    out = group_line(columns, widths);
    end_line(out);
  }
  const auto row = [&](const auto& cell) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      out += (i == 0 ? "" : std::string(gap, ' ')) + padded(cell(i), widths[i], columns[i].left);
    end_line(out);
  };
  row([&](std::size_t i) { return columns[i].title; });
  row([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (std::size_t line = 0; line < columns.front().cells.size(); ++line)
    row([&](std::size_t i) { return columns[i].cells[line]; });
  return out;
}

}  // namespace furlong::tools
