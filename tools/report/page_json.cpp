#include "tools/report/detail/page_json.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "tools/compare/run_figures.hpp"

namespace furlong::tools {

reported_runs::reported_runs(std::span<const run_record> records)
    : runs(records), configurations(configurations_of(records)), labels(labels_of(records, configurations)) {
  for (const auto& setup : configurations) {
    const auto state = setup.runs.empty() ? " (" + std::string(state_word(runs[setup.failed.front()])) + ")" : "";
    names.push_back(is_one() ? "" : setup.label + state);
  }
}

const run_record& reported_runs::only() const {
  static const run_record none;
  return is_one() ? runs.front() : none;
}

page_json brief(double value) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 40> text{};
  const auto* const end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  std::from_chars(text.data(), end, value);
  return value == std::round(value) && std::abs(value) < 1e15 ? page_json(static_cast<std::int64_t>(value))
                                                              : page_json(value);
}

page_json new_chart(std::string_view kind, std::string title, std::string_view x, number_style style) {
  constexpr std::array<std::string_view, 8> styles{"plain", "percent", "accuracy", "count",
                                                   "mean",  "rate",    "bytes",    "seconds"};
  page_json made{{"kind", kind}, {"title", std::move(title)}};
  if (!x.empty()) made["x"] = x;
  made["style"] = styles.at(static_cast<std::size_t>(style));
  made["series"] = page_json::array();
  return made;
}

page_json& add_series(page_json& chart, std::string_view name, std::size_t colour, const std::string& value) {
  page_json made{{"name", name}, {"colour", colour}};
  if (!value.empty()) made["value"] = value;
  return chart["series"].emplace_back(std::move(made));
}

page_json new_table(std::string_view title, std::string_view caption, std::initializer_list<std::string_view> heads) {
  page_json made{{"title", title}, {"caption", caption}, {"heads", page_json::array()}, {"rows", page_json::array()}};
  add_heads(made, heads);
  return made;
}

void add_heads(page_json& table, std::initializer_list<std::string_view> names, std::string_view group) {
  for (const auto name : names) {
    const bool numeric = name.starts_with('#');
    page_json head{{"name", name.substr(numeric ? 1 : 0)}, {"numeric", numeric}};
    if (!group.empty()) head["group"] = group;
    table["heads"].push_back(std::move(head));
  }
}

void add_row(page_json& table, page_json cells, std::string_view kind) {
  page_json row{{"cells", std::move(cells)}};
  if (!kind.empty()) row["kind"] = kind;
  table["rows"].push_back(std::move(row));
}

}  // namespace furlong::tools
