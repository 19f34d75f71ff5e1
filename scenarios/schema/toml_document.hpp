// A TOML text as a flat list of dotted keys, each with its place in the file. Only toml_document.cpp includes the TOML
// library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

namespace furlong::scenarios {

/// A place in a file, counted from 1; 0: none.
struct place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct toml_entry;

/// One value. Dates and times are std::monostate: no key takes them; a table inside an array, as in [[event]], is a
/// list of its entries.
struct toml_value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<toml_value>,
               std::vector<toml_entry>>
      data;
  place at;
};

/// `key = value`, the key with its tables: "algorithm.client.lr".
struct toml_entry {
  std::string key;
  place at;
  toml_value value;
};

/// A table, written as [a.b], a.b = {...}, or implied by a dotted key.
struct toml_table {
  std::string key;
  place at;
};

struct toml_document {
  std::vector<toml_entry> values;
  std::vector<toml_table> tables;
};

struct toml_syntax_error {
  place at;
  std::string what;
};

/// Reads a whole TOML text (UTF-8). Stops at the first syntax error.
[[nodiscard]] tl::expected<toml_document, toml_syntax_error> parse_toml(std::string_view text);

/// Reads the right-hand side of `--set key=value`: a TOML value, else the text itself ("mean" needs no quotes). The
/// document's keys start with `key`; an inline table gives several.
[[nodiscard]] toml_document parse_setting(std::string_view key, std::string_view value);

/// A value in TOML notation, for messages: 3, "text", [1, 2].
[[nodiscard]] std::string to_text(const toml_value& value);
/// A basic string of TOML: quoted, escaped.
[[nodiscard]] std::string toml_string(std::string_view text);
/// The shortest text that reads back as the same float; always with a point or an exponent.
[[nodiscard]] std::string number_text(double value);

}  // namespace furlong::scenarios
