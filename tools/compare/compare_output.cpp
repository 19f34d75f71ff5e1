#include "tools/compare/compare_output.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/compare/text_table.hpp"
#include "tools/runs/csv.hpp"

namespace furlong::tools {

namespace {

using nlohmann::ordered_json;

ordered_json number_json(std::optional<double> value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json();
}

// A seed is a whole number; what is none, of a damaged file, stays a text.
ordered_json seed_json(const std::string& seed) {
  auto number = ordered_json::parse(seed, nullptr, false);
  return number.is_number_unsigned() ? number : ordered_json(seed);
}

ordered_json estimate_json(const estimate& value) {
  return {{"n", value.n},
          {"mean", number_json(value.mean)},
          {"sd", number_json(value.sd)},
          {"low", number_json(value.low)},
          {"high", number_json(value.high)}};
}

ordered_json word_json(better when) {
  switch (when) {
    case better::smaller: return "smaller";
    case better::larger: return "larger";
    case better::neither: break;
  }
  return nullptr;
}

ordered_json configuration_json(std::span<const run_record> runs, const configuration& setup) {
  ordered_json out = {{"label", setup.label}, {"scenario", setup.name}, {"algorithm", setup.algorithm}};
  out["settings"] = ordered_json::object();
  for (const auto& [key, value] : setup.settings) out["settings"][key] = value;
  out["runs"] = ordered_json::array();
  for (const auto* list : {&setup.runs, &setup.failed})
    for (const auto i : *list) {
      const auto& run = runs[i];
      ordered_json line = {{"run", run.directory.string()}, {"seed", seed_json(run.seed)}, {"state", state_word(run)}};
      if (has_failed(run)) line["why"] = failure_of(run);
      if (run.summary && run.summary->figure("best.version")) line["best_round"] = run.summary->count("best.version");
      out["runs"].push_back(std::move(line));
    }
  return out;
}

ordered_json figure_json(const comparison& compared, const compared_column& column, std::size_t baseline) {
  const auto label = [&](std::size_t i) { return compared.configurations[i].label; };
  ordered_json out = {{"figure", column.figure.key}, {"better", word_json(column.figure.when)}};
  out["best"] = column.best ? ordered_json(label(*column.best)) : ordered_json();
  for (std::size_t i = 0; i < compared.configurations.size(); ++i) {
    ordered_json line = {{"label", label(i)}};
    line.update(estimate_json(column.estimates[i]));
    line["values"] = ordered_json::array();
    for (const auto& [seed, value] : column.values[i])
      line["values"].push_back({{"seed", seed_json(seed)}, {"value", number_json(value)}});
    if (i != baseline) {
      const auto difference = difference_in(column, baseline, i);
      line["difference"] = estimate_json(difference);
      line["difference"]["excludes_zero"] = difference.excludes_zero();
    }
    out["configurations"].push_back(std::move(line));
  }
  return out;
}

std::string number_field(std::optional<double> value) {
  return value && std::isfinite(*value) ? ordered_json(*value).dump() : std::string();
}

void add_fields(std::vector<std::string>& fields, const estimate& interval) {
  fields.push_back(std::to_string(interval.n));
  for (const auto& value : {std::optional(interval.mean), interval.sd, interval.low, interval.high})
    fields.push_back(number_field(value));
}

// To as many decimals as the mean of the configuration, shares to two, since differences are small; a difference with
// its sign.
std::string beside(double mean, double value, number_style style, bool is_signed) {
  const auto size = written_spread(mean, std::abs(value), style);
  const auto sign = value < 0.0 ? "-" : is_signed ? "+" : "";
  return sign + (style == number_style::percent ? fixed(std::abs(value) * 100.0, 2) : size.spread) + size.unit;
}

std::string interval_text(double mean, const estimate& value, number_style style, bool is_signed) {
  if (is_signed && value.is_constant()) return value.mean == 0.0 ? "equal" : "the same in each";
  if (!value.low) return "-";
  return beside(mean, *value.low, style, is_signed) + " .. " + beside(mean, *value.high, style, is_signed);
}

// How many runs are in the mean: "3", or "2 of 3" where the others did not reach the target or lack the figure.
std::string runs_of_figure(const comparison& compared, const compared_column& column, std::size_t configuration) {
  const auto counted = column.estimates[configuration].n;
  const auto runs = compared.configurations[configuration].runs.size();
  return std::to_string(counted) + (counted < runs ? " of " + std::to_string(runs) : "");
}

std::string figure_table(const comparison& compared, const compared_column& column, std::size_t baseline) {
  std::array<text_column, 8> columns{{{"", "configuration", {}, true},
                                      {"", "runs", {}, false},
                                      {"", "mean", {}, false},
                                      {"", "sd", {}, false},
                                      {"", "95 % interval", {}, false},
                                      {"difference within a seed", "mean", {}, false},
                                      {"difference within a seed", "95 % interval", {}, false},
                                      {"difference within a seed", "seeds", {}, false}}};
  const auto style = column.figure.style;
  for (std::size_t i = 0; i < compared.configurations.size(); ++i) {
    const auto& own = column.estimates[i];
    std::array<std::string, 8> cells{compared.configurations[i].label + (column.best == i ? " *" : ""),
                                     runs_of_figure(compared, column, i),
                                     own.n > 0 ? beside(own.mean, own.mean, style, false) : "-",
                                     own.sd ? beside(own.mean, *own.sd, style, false) : "-",
                                     interval_text(own.mean, own, style, false),
                                     "baseline"};
    if (const auto difference = difference_in(column, baseline, i); i != baseline) {
      cells[5] = difference.n > 0 ? beside(own.mean, difference.mean, style, true) : "-";
      cells[6] = interval_text(own.mean, difference, style, true);
      cells[7] = std::to_string(difference.n);
    }
    for (std::size_t c = 0; c < cells.size(); ++c) columns[c].cells.push_back(std::move(cells[c]));
  }
  return text_table({columns.begin(), columns.end()});
}

std::string heading(const compared_figure& figure) {
  switch (figure.when) {
    case better::smaller: return figure.key + ", smaller is better";
    case better::larger: return figure.key + ", larger is better";
    case better::neither: break;
  }
  return figure.key;
}

}  // namespace

ordered_json compare_json(std::span<const run_record> runs, const comparison& compared, std::size_t baseline) {
  ordered_json out = {{"baseline", compared.configurations[baseline].label},
                      {"configurations", ordered_json::array()},
                      {"figures", ordered_json::array()}};
  for (const auto& setup : compared.configurations) out["configurations"].push_back(configuration_json(runs, setup));
  for (const auto& column : compared.columns) out["figures"].push_back(figure_json(compared, column, baseline));
  out["notes"] = notes_on(runs, compared);
  return out;
}

std::string compare_csv(const comparison& compared, std::size_t baseline) {
  std::string out =
      "figure,configuration,n,mean,sd,low,high,best,baseline,difference_n,difference_mean,difference_sd,"
      "difference_low,difference_high";
  for (const auto& column : compared.columns)
    for (std::size_t i = 0; i < compared.configurations.size(); ++i) {
      std::vector<std::string> fields{column.figure.key, compared.configurations[i].label};
      add_fields(fields, column.estimates[i]);
      fields.emplace_back(column.best == i ? "1" : "0");
      fields.push_back(compared.configurations[baseline].label);
      if (i == baseline)
        fields.resize(fields.size() + 5);
      else
        add_fields(fields, difference_in(column, baseline, i));
      out += '\n' + csv_line(fields);
    }
  return out;
}

std::string compare_text(std::span<const run_record> runs, const comparison& compared, std::size_t baseline) {
  std::string out;
  for (const auto& column : compared.columns)
    out += harmless(heading(column.figure)) + '\n' + figure_table(compared, column, baseline) + '\n';
  for (const auto& note : notes_on(runs, compared)) out += harmless(note) + '\n';
  return out;
}

}  // namespace furlong::tools
