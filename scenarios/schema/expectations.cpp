#include <algorithm>
#include <map>

#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/summary_keys.hpp"

namespace furlong::scenarios {

namespace {

/// The keys of summary.json, as docs/schemas/summary.schema.json has them, and, for tables of fixed shape, their keys.
const std::vector<std::string> figures = split_words(summary_keys);
const std::vector<std::string> groups = {"eval.validation", "eval.seen", "eval.unseen", "eval.train"};
const std::vector<std::string> bounds = {"at_most", "at_least", "equals", "is", "within", "baseline"};
/// "is = {x86-64-v3 = ...}" is about runs whose kernels have that level: hashes differ between levels.
constexpr std::string_view by_level = "is.";
const std::vector<std::string> kernel_levels = {"portable", "x86-64-v3", "x86-64-v4", "neon"};

/// The bounds of one figure, as written.
struct figure_bounds {
  std::map<std::string, const source_entry*> by_word;
};

std::string_view first_of(std::string_view key, std::size_t parts) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < parts && end != std::string_view::npos; ++i) end = key.find('.', end + (i == 0 ? 0 : 1));
  return key.substr(0, end);
}

/// Reports a figure that summaries do not have.
bool check_figure(const source_entry& written, const std::string& figure, const std::string& table, draft& document) {
  const auto check = [&](std::string_view part, const std::vector<std::string>& known) {
    if (std::ranges::find(known, part) != known.end()) return true;
    const auto near = nearest(part, known);
    document.report_name({written.origin, {table + "." + figure, written.entry.at, {}}},
                         "summary.json has no " + std::string(part),
                         near.empty() ? "it has " + listed(known) : "did you mean " + near + "?");
    return false;
  };
  if (!check(first_of(figure, 1), figures)) return false;
  return first_of(figure, 1) != "eval" || figure == "eval" || check(first_of(figure, 2), groups);
}

/// Reads the value of a bound; reports an invalid one.
std::optional<expectation> read_bound(const std::string& table, const std::string& figure, const std::string& word,
                                      const source_entry& written, draft& document) {
  const auto key = table + "." + figure + "." + word;
  const auto& value = written.entry.value;
  document.remember(key, written.origin, value);
  expectation made{figure, expectation_kind::equals, 0.0, {}, {}, place_text(written.origin, value.at)};
  const bool exact = word == "equals" || word == "is" || word.starts_with(by_level);
  if (word.starts_with(by_level)) made.level = word.substr(by_level.size());
  if (exact) {
    if (const auto* flag = std::get_if<bool>(&value.data)) return made.value = *flag, made;
    if (const auto* text = std::get_if<std::string>(&value.data)) return made.value = *text, made;
  }
  const auto spec = number_option(word, std::nullopt, {}, {word == "within" ? 0.0 : -1e300});
  const auto read = read_value(spec, value);
  if (!read.value) {
    document.report(key, read.why, exact ? "write a number, a text, true or false" : read.fix);
    return std::nullopt;
  }
  made.value = std::get<double>(*read.value);
  made.kind = word == "at_most"    ? expectation_kind::at_most
              : word == "at_least" ? expectation_kind::at_least
              : word == "within"   ? expectation_kind::within
                                   : expectation_kind::equals;
  return made;
}

/// The other scenario, relative to this one's folder.
std::filesystem::path find_baseline(const std::string& text, const std::string& file) {
  const auto folder = std::filesystem::absolute(file).parent_path();
  return (folder / text).lexically_normal();
}

void read_figure(const std::string& table, const std::string& figure, const figure_bounds& limits,
                 const std::string& file, draft& document, std::vector<expectation>& out) {
  if (!check_figure(*limits.by_word.begin()->second, figure, table, document)) return;
  const auto key = table + "." + figure;
  const auto baseline = limits.by_word.find("baseline");
  for (const auto& [word, written] : limits.by_word) {
    if (word == "baseline") continue;
    auto made = read_bound(table, figure, word, *written, document);
    if (!made) continue;
    if (word == "within") {
      if (baseline == limits.by_word.end()) {
        document.report(key + ".within", "has nothing to compare with", "add baseline = \"other.toml\"");
        continue;
      }
      const auto* text = std::get_if<std::string>(&baseline->second->entry.value.data);
      if (text == nullptr || text->empty()) continue;  // reported below
      made->baseline = find_baseline(*text, file);
    }
    out.push_back(std::move(*made));
  }
  if (baseline == limits.by_word.end()) return;
  const auto& value = baseline->second->entry.value;
  document.remember(key + ".baseline", baseline->second->origin, value);
  if (!std::holds_alternative<std::string>(value.data) || std::get<std::string>(value.data).empty())
    document.report(key + ".baseline", "is " + to_text(value) + ", must be the file of a scenario",
                    "write \"other.toml\"");
  else if (!limits.by_word.contains("within"))
    document.report(key + ".baseline", "has no effect without within", "add within = 0.02, or remove it");
}

std::vector<expectation> read_table(const expect_text& written, const std::string& table, const std::string& file,
                                    draft& document) {
  std::map<std::string, figure_bounds> by_figure;
  std::vector<expectation> made;
  for (const auto& entry : written.tables) {
    const auto inside = entry.entry.key + ".";
    if (std::ranges::none_of(written.values, [&](const auto& v) { return v.entry.key.starts_with(inside); }))
      document.report_name({entry.origin, {table + "." + entry.entry.key, entry.entry.at, {}}}, "has no bound",
                           "write {at_most = ...}, or remove it");
  }
  for (const auto& entry : written.values) {
    const auto& key = entry.entry.key;
    const auto word = std::string(leaf_of(key));
    const bool is_level = std::ranges::find(kernel_levels, word) != kernel_levels.end();
    if (is_level && leaf_of(table_of(key)) == "is" && !table_of(table_of(key)).empty()) {
      by_figure[std::string(table_of(table_of(key)))].by_word[std::string(by_level) + word] = &entry;
      continue;
    }
    if (table_of(key).empty() || std::ranges::find(bounds, word) == bounds.end()) {
      const auto near = table_of(key).empty() ? std::string{} : nearest(word, bounds);
      document.report_name(
          {entry.origin, {table + "." + key, entry.entry.at, {}}}, "is no bound on a figure",
          table_of(key).ends_with(".is") ? "write a level of the kernels: " + listed(kernel_levels, "or")
          : near.empty() ? "write {at_most = ...}, {at_least = ...}, {equals = ...}, {is = ...} or {within = ..., "
                           "baseline = \"...\"}"
                         : "did you mean " + near + "?");
      continue;
    }
    by_figure[std::string(table_of(key))].by_word[word] = &entry;
  }
  for (const auto& [figure, limits] : by_figure) read_figure(table, figure, limits, file, document, made);
  return made;
}

std::string literal(const std::variant<double, std::string, bool>& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return toml_string(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return number_text(std::get<double>(value));
}

}  // namespace

std::string expectation::bound() const {
  std::string words;
  switch (kind) {
    case expectation_kind::at_most: words = "at_most = "; break;
    case expectation_kind::at_least: words = "at_least = "; break;
    case expectation_kind::equals: words = "equals = "; break;
    case expectation_kind::within: words = "within = "; break;
  }
  if (!level.empty()) words = std::string(by_level) + level + " = ";
  words += literal(value);
  if (kind == expectation_kind::within) words += ", baseline = " + toml_string(baseline.string());
  return words;
}

void read_expectations(const source_text& text, variant which, draft& document) {
  auto full = read_table(text.expect, "expect", document.file(), document);
  auto small = read_table(text.smoke_expect, "smoke.expect", document.file(), document);
  document.expectations = which == variant::full ? std::move(full) : std::move(small);
}

}  // namespace furlong::scenarios
