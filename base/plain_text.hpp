// Names that others chose, made fit for where they are shown.
#pragma once

#include <string>
#include <string_view>

namespace furlong {

/// Fit for a terminal: UTF-8, on one line, without control characters (each becomes '?'), and without the characters
/// that turn the direction of writing. At most `longest` characters; one that is cut ends in "...".
[[nodiscard]] std::string for_terminal(std::string_view text, std::size_t longest = 120);

}  // namespace furlong
