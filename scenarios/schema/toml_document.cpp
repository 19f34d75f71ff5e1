#include "scenarios/schema/toml_document.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <toml++/toml.h>
#pragma GCC diagnostic pop

namespace furlong::scenarios {

namespace {

place begin_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

void flatten(const toml::table& table, const std::string& prefix, toml_document& out);

toml_value convert(const toml::node& node) {
  toml_value value;
  value.at = begin_of(node.source());
  if (const auto* flag = node.as_boolean()) value.data = flag->get();
  if (const auto* whole = node.as_integer()) value.data = whole->get();
  if (const auto* number = node.as_floating_point()) value.data = number->get();
  if (const auto* text = node.as_string()) value.data = text->get();
  if (const auto* array = node.as_array()) {
    std::vector<toml_value> items;
    for (const auto& item : *array) items.push_back(convert(item));
    value.data = std::move(items);
  }
  if (const auto* table = node.as_table()) {
    toml_document inner;
    flatten(*table, "", inner);
    value.data = std::move(inner.values);
  }
  return value;
}

/// Scenario keys are less deep; deeper entries are not read, and their table is unknown anyway.
constexpr std::ptrdiff_t deepest = 16;

void flatten(const toml::table& table, const std::string& prefix, toml_document& out) {
  for (const auto& [key, node] : table) {
    const auto name = prefix + std::string(key.str());
    const auto start = begin_of(key.source());
    if (const auto* inner = node.as_table()) {
      out.tables.push_back({name, start});
      if (std::ranges::count(prefix, '.') < deepest) flatten(*inner, name + ".", out);
    } else {
      out.values.push_back({name, start, convert(node)});
    }
  }
}

/// The second place of a key that is written twice: a quoted "client.lr" and a dotted one differ in TOML, but not in a
/// scenario.
const toml_entry* find_repeated(const toml_document& document) {
  std::map<std::string_view, const toml_entry*> known;
  for (const auto& entry : document.values)
    if (const auto [first, is_new] = known.try_emplace(entry.key, &entry); !is_new)
      return std::tuple(first->second->at.line, first->second->at.column) < std::tuple(entry.at.line, entry.at.column)
                 ? &entry
                 : first->second;
  return nullptr;
}

/// A table in another takes a part of the parser's stack.
constexpr std::size_t most_parts = 256;

/// The place of a key with more parts, which are between dots outside of quotes.
std::optional<place> find_deep_key(std::string_view text) {
  std::size_t parts = 0;
  std::uint32_t line = 1;
  std::uint32_t column = 0;
  char quote = 0;
  for (const char c : text) {
    ++column;
    if (quote != 0 && c != '\n') {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.') {
      if (++parts > most_parts) return place{line, column};
    } else if (c == '\n') {
      ++line;
      column = 0;
      parts = 0;
      quote = 0;
    } else if (c == '#') {
      quote = '\n';  // a comment ends with its line
    } else if (c == ',' || c == '=' || c == '{') {
      parts = 0;
    }
  }
  return std::nullopt;
}

void forget_places(toml_value& value) {
  value.at = {};
  if (auto* items = std::get_if<std::vector<toml_value>>(&value.data))
    for (auto& item : *items) forget_places(item);
  if (auto* entries = std::get_if<std::vector<toml_entry>>(&value.data))
    for (auto& entry : *entries) {
      entry.at = {};
      forget_places(entry.value);
    }
}

}  // namespace

tl::expected<toml_document, toml_syntax_error> parse_toml(std::string_view text) {
  if (const auto deep = find_deep_key(text))
    return tl::unexpected(toml_syntax_error{*deep, "a key has more than " + std::to_string(most_parts) + " parts"});
  const auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& why = parsed.error();
    return tl::unexpected(toml_syntax_error{begin_of(why.source()), std::string(why.description())});
  }
  toml_document document;
  flatten(parsed.table(), "", document);
  if (const auto* again = find_repeated(document))
    return tl::unexpected(toml_syntax_error{again->at, "the key " + again->key + " is written twice"});
  return document;
}

toml_document parse_setting(std::string_view key, std::string_view value) {
  toml_document document;
  const auto parsed = find_deep_key(value) ? toml::parse("") : toml::parse("v = " + std::string(value));
  const auto* node = parsed && parsed.table().size() == 1 ? parsed.table().get("v") : nullptr;
  if (node == nullptr) {
    document.values.push_back({std::string(key), {}, {std::string(value), {}}});
  } else if (const auto* table = node->as_table()) {
    document.tables.push_back({std::string(key), {}});
    flatten(*table, std::string(key) + ".", document);
  } else {
    document.values.push_back({std::string(key), {}, convert(*node)});
  }
  for (auto& entry : document.values) {  // places in the value's text are meaningless to a reader
    entry.at = {};
    forget_places(entry.value);
  }
  for (auto& table : document.tables) table.at = {};
  return document;
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04X", static_cast<unsigned>(byte));
      out += code.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string to_text(const toml_value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value.data)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&value.data)) return toml_string(*text);
  if (const auto* items = std::get_if<std::vector<toml_value>>(&value.data)) {
    std::string list;
    for (const auto& item : *items) list += (list.empty() ? "" : ", ") + to_text(item);
    return "[" + list + "]";
  }
  if (std::holds_alternative<std::vector<toml_entry>>(value.data)) return "a table";
  return "a date or a time";
}

}  // namespace furlong::scenarios
