// Messages for people, with names and values from files, peers or the command line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class formatter;
}

namespace furlong::tools {

/// One line, safe for a terminal: replaces invalid UTF-8 and characters that a terminal interprets.
[[nodiscard]] std::string for_people(std::string_view text);

/// The format of log lines: spdlog's, each passed through for_people().
[[nodiscard]] std::unique_ptr<spdlog::formatter> log_format();

}  // namespace furlong::tools
