// Tables for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::tools {

struct text_column {
  std::string group;  ///< stands above adjacent columns of the same group; may be empty
  std::string title;
  std::vector<std::string> cells;
  bool left = false;  ///< aligned; else right
};

/// Characters on the terminal, for texts without wide or combining ones.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// With spaces on the right (`left`) or on the left.
[[nodiscard]] std::string padded(const std::string& text, std::size_t width, bool left);
/// Without what would steer the terminal: texts from files are shown with it.
[[nodiscard]] std::string harmless(std::string text);

/// Lines of equal columns: groups (where there is any), titles, a rule, a line for each cell.
[[nodiscard]] std::string text_table(std::vector<text_column> columns);

}  // namespace furlong::tools
