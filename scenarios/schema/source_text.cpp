#include <algorithm>
#include <array>

#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// Mutually exclusive keys or tables: an override of one replaces the others.
const std::array<std::vector<std::string_view>, 3> exclusive = {{
    {"scenario.rounds", "scenario.epochs", "scenario.until"},
    {"participation.per_round", "participation.fraction"},
    {"evaluation.target.at_most", "evaluation.target.at_least"},
}};

bool belongs_to(std::string_view key, std::string_view table) {
  return key == table || (key.starts_with(table) && key.substr(table.size()).starts_with('.'));
}

/// True if a later value of one key removes an earlier one of another.
bool replaces(std::string_view later, std::string_view earlier) {
  if (later == earlier) return true;
  return std::ranges::any_of(exclusive, [&](const auto& group) {
    const auto lookup = [&](std::string_view key) {
      return std::ranges::find_if(group, [&](std::string_view member) { return belongs_to(key, member); });
    };
    return lookup(later) != group.end() && lookup(earlier) != group.end() && lookup(later) != lookup(earlier);
  });
}

/// availability = "markov" is a kind, availability = "file.csv" a trace.
toml_document write_out_shorthands(toml_document document) {
  std::vector<toml_entry> added;
  for (auto& entry : document.values) {
    const auto* word = std::get_if<std::string>(&entry.value.data);
    if (word == nullptr || (entry.key != "devices.availability" && entry.key != "smoke.devices.availability")) continue;
    const auto table = entry.key;
    entry.key += ".kind";
    if (!word->ends_with(".csv")) continue;
    added.push_back({table + ".trace", entry.at, entry.value});
    entry.value.data = std::string("trace");
  }
  std::ranges::move(added, std::back_inserter(document.values));
  return document;
}

source_text as_text(const toml_document& document, const std::string& origin) {
  source_text text;
  for (const auto& entry : document.values) text.values.push_back({origin, entry});
  for (const auto& table : document.tables) text.tables.push_back({origin, {table.key, table.at, {}}});
  return text;
}

/// Lets later values replace earlier ones. Values of the same source do not replace each other: the checks report them.
void overlay(source_text& text, const std::vector<source_entry>& values, const std::vector<source_entry>& tables) {
  const auto outdated = [&](const source_entry& earlier) {
    return std::ranges::any_of(values, [&](const auto& later) { return replaces(later.entry.key, earlier.entry.key); });
  };
  std::erase_if(text.values, outdated);
  std::erase_if(text.tables, outdated);
  text.values.insert(text.values.end(), values.begin(), values.end());
  for (const auto& table : tables)
    if (std::ranges::find(text.tables, table.entry.key, [](const auto& t) { return t.entry.key; }) == text.tables.end())
      text.tables.push_back(table);
}

/// The overrides of one kind of keys: those of [smoke], or all others.
void overlay_settings(source_text& text, const std::vector<setting_override>& overrides, bool of_smoke) {
  for (const auto& [key, value, origin] : overrides) {
    if (belongs_to(key, "smoke") != of_smoke) continue;
    const auto later =
        as_text(write_out_shorthands(parse_setting(key, value)), origin.empty() ? "--set " + key : origin);
    overlay(text, later.values, later.tables);
  }
}

/// Moves the entries of a table out of a list, without its name. The table itself stays.
std::vector<source_entry> take_under(std::vector<source_entry>& entries, const std::string& table) {
  std::vector<source_entry> taken;
  std::erase_if(entries, [&](const source_entry& written) {
    if (!written.entry.key.starts_with(table + ".")) return false;
    taken.push_back(written);
    taken.back().entry.key.erase(0, table.size() + 1);
    return true;
  });
  return taken;
}

/// The places of a value and its children.
void collect_places(const toml_value& value, std::vector<place>& out) {
  out.push_back(value.at);
  if (const auto* items = std::get_if<std::vector<toml_value>>(&value.data))
    for (const auto& item : *items) collect_places(item, out);
  if (const auto* entries = std::get_if<std::vector<toml_entry>>(&value.data))
    for (const auto& entry : *entries) {
      out.push_back(entry.at);
      collect_places(entry.value, out);
    }
}

}  // namespace

source_text merge(const toml_document& document, const std::string& file,
                  const std::vector<setting_override>& overrides, variant which) {
  auto text = as_text(write_out_shorthands(document), file);
  overlay_settings(text, overrides, true);
  text.has_smoke = std::ranges::any_of(text.tables, [](const auto& t) { return t.entry.key == "smoke"; });
  auto values = take_under(text.values, "smoke");
  auto tables = take_under(text.tables, "smoke");
  text.smoke_expect = {take_under(values, "expect"), take_under(tables, "expect")};
  std::erase_if(tables, [](const auto& t) { return t.entry.key == "expect"; });
  for (const auto& [origin, entry] : values) collect_places(entry.value, text.smoke);
  if (which == variant::smoke) overlay(text, values, tables);
  overlay_settings(text, overrides, false);
  text.expect = {take_under(text.values, "expect"), take_under(text.tables, "expect")};
  return text;
}

}  // namespace furlong::scenarios
