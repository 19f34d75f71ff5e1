#include "tools/report/detail/html.hpp"

#include <algorithm>

namespace furlong::tools {

namespace {

std::string_view class_of(const table_cell& cell) {
  if (cell.best) return cell.numeric ? " class=\"num best\"" : " class=\"best\"";
  return cell.numeric ? " class=\"num\"" : "";
}

// The row of groups above the heads, where there are any.
std::string group_row(const std::vector<table_head>& heads) {
  if (std::all_of(heads.begin(), heads.end(), [](const auto& head) { return head.group_html.empty(); })) return {};
  std::string row = "<tr class=\"groups\">";
  for (std::size_t i = 0; i < heads.size();) {
    std::size_t end = i + 1;
    while (end < heads.size() && !heads[i].group_html.empty() && heads[end].group_html == heads[i].group_html) ++end;
    if (heads[i].group_html.empty())
      row += "<td></td>";
    else
      row += "<th scope=\"colgroup\" colspan=\"" + std::to_string(end - i) + "\">" + heads[i].group_html + "</th>";
    i = end;
  }
  return row + "</tr>\n";
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n':
      case '\t': out += c; break;
      case '\r': break;
      default:
        if (byte < 0x20 || byte == 0x7F)
          out += "\uFFFD";
        else
          out += c;
    }
  }
  return out;
}

std::string html_table(std::string_view caption_html, const std::vector<table_head>& heads,
                       const std::vector<table_row>& rows) {
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>";
  if (!caption_html.empty()) out += "<caption>" + std::string(caption_html) + "</caption>";
  out += "<thead>\n" + group_row(heads) + "<tr>";
  for (const auto& head : heads)
    out += std::string("<th scope=\"col\"") + (head.numeric ? " class=\"num\">" : ">") + head.html + "</th>";
  out += "</tr>\n</thead><tbody>\n";
  for (const auto& row : rows) {
    out += row.kind.empty() ? "<tr>" : "<tr class=\"" + row.kind + "\">";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const auto& cell = row.cells[i];
      const std::string tag = i == 0 ? "th" : "td";
      out += "<" + tag + (i == 0 ? " scope=\"row\"" : "") + std::string(class_of(cell)) + ">" + cell.html;
      if (cell.best) out += "<span class=\"mark\" title=\"best of its column\">\u25CF</span>";
      out += "</" + tag + ">";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string hint(std::string_view html) {
  return html.empty() ? "" : "<p class=\"hint\">" + std::string(html) + "</p>\n";
}

std::string warning(std::string_view text) {
  return text.empty() ? "" : "<p class=\"note\">" + escape(text) + "</p>\n";
}

std::string values_table(const std::vector<table_head>& heads, const std::vector<table_row>& rows) {
  return "<details class=\"values\"><summary>Values</summary>" + html_table("", heads, rows) + "</details>";
}

table_cell text_cell(std::string_view text) { return {escape(text)}; }

table_cell number_cell(std::string_view text) { return {escape(text), true}; }

}  // namespace furlong::tools
