// Fields of CSV (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace furlong::tools {

/// A field, in quotes where it needs them.
[[nodiscard]] inline std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// Fields as a line, without its end.
[[nodiscard]] inline std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + csv_text(fields[i]);
  return line;
}

}  // namespace furlong::tools
