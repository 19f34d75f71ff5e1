// Charts and tables as JSON, as the scripts of tools/page read them. Texts are plain.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/compare/configurations.hpp"
#include "tools/compare/numbers.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

using page_json = nlohmann::ordered_json;

/// The runs that a report is about, and what it calls them.
struct reported_runs {
  std::span<const run_record> runs;
  std::vector<configuration> configurations;
  std::vector<std::string> labels;  ///< of the runs
  std::vector<std::string> names;   ///< of the configurations; of a single run an empty one

  explicit reported_runs(std::span<const run_record> records);
  [[nodiscard]] bool is_one() const { return runs.size() == 1; }
  /// The single run, of which more is drawn than of several; of several an empty one.
  [[nodiscard]] const run_record& only() const;
};

/// A value to draw: six significant digits; not finite: null.
[[nodiscard]] page_json brief(double value);

/// {"kind", "title", "x", "style", "series": []}, for the specification of that kind in tools/page/charts.
[[nodiscard]] page_json new_chart(std::string_view kind, std::string title, std::string_view x = {},
                                  number_style style = number_style::plain);
/// Adds {"name", "colour"} to the series of a chart, and the "value" that the legend shows unless it is empty.
page_json& add_series(page_json& chart, std::string_view name, std::size_t colour, const std::string& value = {});

/// {"title", "caption", "heads": [{"name", "numeric", "group"}], "rows": [{"cells", "kind"}]}. A cell is a text, or
/// {"text", "spread", "value", "best"}.
[[nodiscard]] page_json new_table(std::string_view title, std::string_view caption,
                                  std::initializer_list<std::string_view> heads);
/// Names that begin with '#' head columns of figures.
void add_heads(page_json& table, std::initializer_list<std::string_view> names, std::string_view group = {});
void add_row(page_json& table, page_json cells, std::string_view kind = {});

/// Adds what is not null.
void add_some(auto& target, page_json part) {
  if (!part.is_null()) target.push_back(std::move(part));
}

}  // namespace furlong::tools
