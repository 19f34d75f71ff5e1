// Messages for people: names and values in them may come from files, from peers or from the command line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class formatter;
}

namespace furlong::tools {

/// One line, fit for a terminal: what is not UTF-8 and what a terminal would take for an order is replaced.
[[nodiscard]] std::string for_people(std::string_view text);

/// How lines of a log look: as spdlog writes them, each for_people().
[[nodiscard]] std::unique_ptr<spdlog::formatter> log_format();

}  // namespace furlong::tools
