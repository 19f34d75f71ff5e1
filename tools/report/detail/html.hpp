// Pieces of HTML. Whatever comes from a file goes through escape().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace furlong::tools {

/// A text as HTML, also fit for a quoted attribute. Control characters become U+FFFD.
[[nodiscard]] std::string escape(std::string_view text);

/// A cell of a table. `html` is markup already.
struct table_cell {
  std::string html;
  bool numeric = false;
  bool best = false;
};

/// One row of a table; its first cell heads it.
struct table_row {
  std::vector<table_cell> cells;
  std::string kind;  ///< CSS class; may be empty
};

/// A column's head and the group it stands under; columns of one group stand together.
struct table_head {
  std::string html;
  std::string group_html;  ///< empty: none
  bool numeric = false;
};

/// A table that scrolls sideways where it is too wide for the page.
[[nodiscard]] std::string html_table(std::string_view caption_html, const std::vector<table_head>& heads,
                                     const std::vector<table_row>& rows);

/// A small paragraph of markup; empty for an empty one.
[[nodiscard]] std::string hint(std::string_view html);

/// A paragraph of plain text that must not be missed; empty for an empty one.
[[nodiscard]] std::string warning(std::string_view text);

/// The table of a plot's values, folded away under it.
[[nodiscard]] std::string values_table(const std::vector<table_head>& heads, const std::vector<table_row>& rows);

/// A text or a figure as a cell.
[[nodiscard]] table_cell text_cell(std::string_view text);
[[nodiscard]] table_cell number_cell(std::string_view text);

}  // namespace furlong::tools
