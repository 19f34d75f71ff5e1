// The page, as it was built into the program.
#pragma once

#include <string>

namespace furlong::tools::dashboard {

struct built_page {
  std::string html;
  std::string policy;  ///< Content-Security-Policy: its own style and script, by their hashes, and nothing else
};

/// Thread-safe.
[[nodiscard]] const built_page& the_page();

}  // namespace furlong::tools::dashboard
