// The page, as it was built into the program.
#pragma once

#include <string>
#include <string_view>

namespace furlong::tools::dashboard {

struct built_page {
  std::string html;
  std::string policy;  ///< Content-Security-Policy: its own style and script, by their hashes, and nothing else
};

/// Thread-safe.
[[nodiscard]] const built_page& the_page();

// The files of tools/dashboard/page.

extern const std::string_view dashboard_page;
extern const std::string_view dashboard_script;

}  // namespace furlong::tools::dashboard
