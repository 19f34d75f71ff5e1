// The dashboard on a terminal.
#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/dashboard/status_json.hpp"

namespace furlong::tools::dashboard {

/// Lines of text from the answer of /api/status; names are made fit for a terminal. Fails (kind data) when the answer
/// lacks what it must have.
[[nodiscard]] result<std::string> status_text(const json& status);

}  // namespace furlong::tools::dashboard
