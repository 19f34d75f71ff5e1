#include "tools/sweep/sweep_table.hpp"

#include <algorithm>
#include <set>

#include "tools/runs/csv.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

namespace {

using json = nlohmann::ordered_json;

std::string_view word_of(const sweep_row& row) {
  switch (row.status) {
    case run_status::done: return "done";
    case run_status::failed: return failure_word(row.why);
    case run_status::waiting: break;
  }
  return "waiting";
}

/// All numbers, texts and booleans of an object, by dotted key.
void flatten(const json& object, const std::string& prefix, json& cells) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      flatten(value, prefix + key + ".", cells);
    else if (!value.is_array())
      cells[prefix + key] = value;
  }
}

json figures_of(const sweep_row& row) {
  json figures = json::object();
  flatten(row.summary, "", figures);
  return figures;
}

/// Converts a number written as text.
json value_json(const std::string& shown) {
  auto value = json::parse(shown, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : json(shown);
}

std::string field_of(const json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

json grid_json(const std::vector<grid_axis>& axes) {
  json out = json::object();
  for (const auto& axis : axes)
    for (const auto& value : axis.values) out[axis.key].push_back(value_json(value.shown));
  return out;
}

json tied_json(const std::vector<grid_axis>& axes) {
  json out = json::array();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].tied) continue;
    if (!axes[i - 1].tied) out.push_back(json::array({axes[i - 1].key}));
    out.back().push_back(axes[i].key);
  }
  return out;
}

json point_json(const std::vector<grid_axis>& axes, const grid_point& point) {
  json out = json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i].key] = value_json(axes[i].values[point.indices[i]].shown);
  return out;
}

std::vector<std::string> scenarios_of(const std::vector<sweep_row>& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows)
    if (std::ranges::find(names, row.scenario) == names.end()) names.push_back(row.scenario);
  return names;
}

json sweep_json(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows) {
  const auto names = scenarios_of(rows);
  json out = {{"scenario", names.empty() ? "" : names.front()},
              {"scenarios", names},
              {"grid", grid_json(axes)},
              {"tied", tied_json(axes)},
              {"runs", json::array()}};
  for (const auto& row : rows) {
    json line = {{"run", row.run},
                 {"scenario", row.scenario},
                 {"status", word_of(row)},
                 {"seed", row.point.seed},
                 {"grid", point_json(axes, row.point)}};
    if (!row.why.empty()) line["why"] = row.why;
    line["figures"] = figures_of(row);
    out["runs"].push_back(std::move(line));
  }
  return out;
}

std::string sweep_csv(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows) {
  std::vector<std::string> keys;
  const bool several = scenarios_of(rows).size() > 1;
  std::set<std::string> known = {"seed"};  // has its own column
  if (several) known.insert("scenario");
  std::vector<json> figures;
  for (const auto& row : rows) {
    figures.push_back(figures_of(row));
    for (const auto& item : figures.back().items())
      if (known.insert(item.key()).second) keys.push_back(item.key());
  }
  std::vector<std::string> head = {"run", "status", "seed"};
  if (several) head.emplace_back("scenario");
  for (const auto& axis : axes) head.push_back(axis.key);
  head.insert(head.end(), keys.begin(), keys.end());
  auto text = csv_line(head);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    std::vector<std::string> fields = {row.run, std::string(word_of(row)), std::to_string(row.point.seed)};
    if (several) fields.push_back(row.scenario);
    for (std::size_t a = 0; a < axes.size(); ++a) fields.push_back(axes[a].values[row.point.indices[a]].shown);
    for (const auto& key : keys) fields.push_back(field_of(figures[i].value(key, json())));
    text += "\n" + csv_line(fields);
  }
  return text;
}

}  // namespace furlong::tools
