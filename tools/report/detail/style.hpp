// What makes the page look and act as it does.
#pragma once

#include <string_view>

namespace furlong::tools {

/// The style sheet: light and dark, print, and phones.
[[nodiscard]] std::string_view style_sheet();
/// The script that tells the values under the pointer. Without it the page lacks nothing else.
[[nodiscard]] std::string_view hover_script();

}  // namespace furlong::tools
