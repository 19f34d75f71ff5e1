#include "tools/sweep/sweep_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <set>

#include "tools/cli/failure.hpp"
#include "tools/cli/figures_json.hpp"
#include "tools/expectations/expectations.hpp"

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
void flatten(const json& from, const std::string& prefix, json& to) {
  if (!from.is_object()) return;
  for (const auto& [key, value] : from.items()) {
    if (value.is_object())
      flatten(value, prefix + key + ".", to);
    else if (!value.is_array())
      to[prefix + key] = value;
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

std::string csv_field(const json& value) {
  if (value.is_null()) return "";
  const auto text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + fields[i];
  return line;
}

/// A column of the table: a figure and its format.
struct column {
  const char* title;
  const char* key;
  double scale;
  int digits;
};
constexpr std::array columns = {
    column{"val. rmse", "eval.validation.rmse", 1.0, 4},
    column{"seen rmse", "eval.seen.rmse", 1.0, 4},
    column{"unseen rmse", "eval.unseen.rmse", 1.0, 4},
    column{"val. auc", "eval.validation.auc", 1.0, 4},
    column{"seen auc", "eval.seen.auc", 1.0, 4},
    column{"unseen auc", "eval.unseen.auc", 1.0, 4},
    column{"val. perpl.", "eval.validation.perplexity", 1.0, 2},
    column{"seen perpl.", "eval.seen.perplexity", 1.0, 2},
    column{"unseen perpl.", "eval.unseen.perplexity", 1.0, 2},
    column{"val. acc %", "eval.validation.accuracy", 100.0, 1},
    column{"seen acc %", "eval.seen.accuracy", 100.0, 1},
    column{"unseen acc %", "eval.unseen.accuracy", 100.0, 1},
    column{"seen acc % (words)", "eval.seen.accuracy_words", 100.0, 1},
    column{"unseen acc % (words)", "eval.unseen.accuracy_words", 100.0, 1},
    column{"wasted %", "wasted.share", 100.0, 1},
    column{"virtual s", "virtual_seconds", 1.0, 0},
    column{"to target s", "time_to_target.virtual_seconds", 1.0, 0},
    column{"up MB", "bytes_up", 1e-6, 1},
};

/// True if a run's figures count in the means: those of a failed run would dominate.
bool counts(const sweep_row* row) { return row->status != run_status::failed && !row->summary.is_null(); }

std::vector<double> values_of(const std::vector<const sweep_row*>& rows, const column& of) {
  std::vector<double> values;
  for (const auto* row : rows) {
    if (!counts(row)) continue;
    const auto figure = figure_of(row->summary, of.key);
    if (figure && (figure->is_number() || figure->is_null()))
      values.push_back(figure->is_null() ? std::nan("") : figure->get<double>() * of.scale);
  }
  return values;
}

constexpr auto no_figure = "-";

/// The mean over a combination's runs; with their number if not all have the figure.
std::string cell_of(const std::vector<const sweep_row*>& rows, const column& of) {
  const auto values = values_of(rows, of);
  const auto all = static_cast<std::size_t>(std::ranges::count_if(rows, counts));
  if (values.size() == all) return all == 0 ? no_figure : mean_and_spread(values, of.digits);
  if (!values.empty()) return fmt::format("{} ({} of {})", mean_and_spread(values, of.digits), values.size(), all);
  const bool missed =
      std::string_view(of.key).starts_with("time_to_target.") && std::ranges::any_of(rows, [](const auto* row) {
        const auto reached = figure_of(row->summary, "time_to_target.reached");
        return reached && *reached == false;
      });
  return missed ? "not reached" : no_figure;
}

/// The rows of each combination, in order of first appearance.
std::vector<std::vector<const sweep_row*>> by_combination(const std::vector<sweep_row>& rows) {
  std::vector<std::vector<const sweep_row*>> groups;
  for (const auto& row : rows) {
    if (groups.empty() || groups.back().front()->point.at != row.point.at ||
        groups.back().front()->scenario != row.scenario)
      groups.emplace_back();
    groups.back().push_back(&row);
  }
  return groups;
}

/// The number of runs in a combination's figures, and of failed ones.
std::string runs_text(const std::vector<const sweep_row*>& group) {
  const auto counted = std::ranges::count_if(group, counts);
  auto text = std::to_string(counted);
  if (static_cast<std::size_t>(counted) != group.size()) text += fmt::format(" of {}", group.size());
  for (const auto* word : {"failed", "diverged"})
    if (const auto n = std::ranges::count_if(
            group, [&](const auto* row) { return row->status == run_status::failed && word_of(*row) == word; });
        n > 0)
      text += fmt::format(", {} {}", n, word);
  return text;
}

}  // namespace

std::string mean_and_spread(const std::vector<double>& values, int digits) {
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double one : values) sum += one;
  const double mean = sum / count;
  if (values.size() < 2) return figure_text(mean, digits);
  double squares = 0.0;
  for (const double one : values) squares += (one - mean) * (one - mean);
  return figure_text(mean, digits) + " +- " + figure_text(std::sqrt(squares / (count - 1.0)), digits);
}

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
  for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i].key] = value_json(axes[i].values[point.at[i]].shown);
  return out;
}

std::string aligned(const std::vector<std::vector<std::string>>& lines, std::size_t left) {
  std::vector<std::size_t> width(lines.front().size(), 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i)
      row += (i > 0 ? "  " : "") +
             (i < left ? fmt::format("{:<{}}", line[i], width[i]) : fmt::format("{:>{}}", line[i], width[i]));
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
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
  for (const auto& axis : axes) head.push_back(csv_field(axis.key));
  for (const auto& key : keys) head.push_back(csv_field(key));
  auto text = csv_line(head);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    std::vector<std::string> fields = {csv_field(row.run), std::string(word_of(row)), std::to_string(row.point.seed)};
    if (several) fields.push_back(csv_field(row.scenario));
    for (std::size_t a = 0; a < axes.size(); ++a) fields.push_back(csv_field(axes[a].values[row.point.at[a]].shown));
    for (const auto& key : keys) fields.push_back(csv_field(figures[i].value(key, json())));
    text += "\n" + csv_line(fields);
  }
  return text;
}

std::string sweep_table(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows) {
  const auto groups = by_combination(rows);
  const bool several = scenarios_of(rows).size() > 1;
  std::vector<std::vector<std::string>> lines(1);
  if (several) lines.front().emplace_back("scenario");
  for (const auto& axis : axes) lines.front().push_back(axis.name);
  lines.front().emplace_back("runs");
  for (const auto& group : groups) {
    auto& line = lines.emplace_back();
    if (several) line.push_back(group.front()->scenario);
    for (std::size_t a = 0; a < axes.size(); ++a) line.push_back(axes[a].values[group.front()->point.at[a]].shown);
    line.push_back(runs_text(group));
  }
  for (const auto& column : columns) {
    std::vector<std::string> cells;
    for (const auto& group : groups) cells.push_back(cell_of(group, column));
    if (std::ranges::all_of(cells, [](const auto& one) { return one == no_figure; })) continue;
    lines.front().emplace_back(column.title);
    for (std::size_t g = 0; g < groups.size(); ++g) lines[g + 1].push_back(std::move(cells[g]));
  }
  auto text = aligned(lines, axes.size() + (several ? 1 : 0));
  const auto is_published = [](const sweep_row& row) {
    return row.summary.contains("protocol") && row.summary["protocol"] == "fedatt-2018";
  };
  if (std::ranges::any_of(rows, is_published))
    text += "Protocol fedatt-2018: what is called perplexity is not that of a language model.\n";
  return text;
}

}  // namespace furlong::tools
