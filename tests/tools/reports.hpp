// What tests of the report share: run directories, and their pages.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "tools/compare/comparison_table.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/report/report.hpp"
#include "tools/runs/read_run.hpp"

namespace furlong::tests {

namespace fs = std::filesystem;
using tools::run_record;

inline const fs::path golden = "tests/tools/report_runs";

// A run directory of its own, removed at the end.
struct scratch {
  fs::path at = fs::temp_directory_path() / ("furlong-report-" + std::to_string(::getpid()));

  scratch() {
    fs::remove_all(at);
    fs::create_directories(at);
  }
  ~scratch() { fs::remove_all(at); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(at / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string problem() const {
    const auto run = tools::read_run(at);
    return run ? "" : run.error().text();
  }
};

inline run_record read(const fs::path& folder) {
  auto run = tools::read_run(folder);
  if (!run) throw std::runtime_error(run.error().text());
  return *run;
}

inline std::vector<run_record> both() { return {read(golden / "furl"), read(golden / "fedavg")}; }

// Each run with three seeds. Their figures of quality are apart by 0.001 times `spread`, nearly the same in all runs.
inline std::vector<run_record> over_seeds(const std::vector<run_record>& runs, double spread = 1.0) {
  std::vector<run_record> all;
  for (const auto& run : runs) {
    const double unequal = 1.0 + 0.001 * static_cast<double>(&run - runs.data());  // so that differences have a spread
    for (const int seed : {1, 2, 3}) {
      auto& copy = all.emplace_back(run);
      copy.seed = std::to_string(seed);
      if (const auto at = copy.scenario.find("seed = "); at != std::string::npos)
        copy.scenario.replace(at + 7, copy.scenario.find('\n', at) - at - 7, copy.seed);
      for (auto& [key, value] : copy.summary->figures)
        if (key.starts_with("eval.") &&
            (key.ends_with(".rmse") || key.ends_with(".accuracy") || key.ends_with(".perplexity")))
          value += 0.001 * spread * unequal * (seed - 2);
    }
  }
  return all;
}

inline std::string page(const run_record& run) { return tools::report_html({&run, 1}); }

// What the page of a run, or of several, is made from.
inline tools::page_json data_of(const run_record& run) { return tools::report_data({&run, 1}); }
inline tools::page_json data_of(const std::vector<run_record>& runs) { return tools::report_data(runs); }

inline std::vector<tools::page_json> charts_of(const tools::page_json& data) {
  std::vector<tools::page_json> all;
  for (const auto& section : data["sections"])
    for (const auto& chart : section["charts"]) all.push_back(chart);
  return all;
}
inline tools::page_json chart_of(const tools::page_json& data, const std::string& title) {
  for (auto& chart : charts_of(data))
    if (chart["title"] == title) return chart;
  return nullptr;
}
inline tools::page_json section_of(const tools::page_json& data, const std::string& title) {
  for (const auto& section : data["sections"])
    if (section["title"] == title) return section;
  return nullptr;
}
// A series of a chart by its name, and its last value.
inline tools::page_json series_of(const tools::page_json& chart, const std::string& name) {
  if (!chart.is_null())
    for (const auto& one : chart["series"])
      if (one["name"] == name) return one;
  return nullptr;
}

// "value, detail, detail" of a card of the first run.
inline std::string card_of(const tools::page_json& data, const std::string& name) {
  for (const auto& card : data["runs"][0]["cards"])
    if (card["name"] == name) {
      auto text = card["value"].get<std::string>();
      for (const auto& detail : card["details"]) text += ", " + detail.get<std::string>();
      return text;
    }
  return "no card";
}
// The main table as "cell | cell" lines, "*" after what is marked.
inline std::string main_table(const tools::page_json& data) {
  std::string text;
  for (const auto& row : data["main"]["rows"]) {
    for (const auto& cell : row["cells"])
      text += " | " + (cell.is_string() ? cell.get<std::string>()
                                        : cell["text"].get<std::string>() + " " + cell["spread"].get<std::string>() +
                                              (cell["best"] == true ? "*" : ""));
    text += "\n";
  }
  return text;
}
// "cell | cell" of the row of a table of the first run.
inline std::string row_of(const tools::page_json& data, const std::string& table, const std::string& first) {
  for (const auto& one : data["runs"][0]["tables"]) {
    if (one["title"] != table) continue;
    for (const auto& row : one["rows"]) {
      if (row["cells"][0] != first) continue;
      std::string text;
      for (std::size_t i = 1; i < row["cells"].size(); ++i)
        text += (i == 1 ? "" : " | ") + row["cells"][i].get<std::string>();
      return text;
    }
    return "no row";
  }
  return "no table";
}

/// Removes the figures whose keys begin with `before`.
inline void forget(tools::figure_set& of, std::string_view before) {
  const auto begin = of.figures.lower_bound(before);
  of.figures.erase(
      begin, std::find_if(begin, of.figures.end(), [&](const auto& one) { return !one.first.starts_with(before); }));
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace furlong::tests
