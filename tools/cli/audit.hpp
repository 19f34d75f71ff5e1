// furlong audit
#pragma once

#include "tools/cli/command_line.hpp"

namespace furlong::tools {

void add_audit(CLI::App& app, command& chosen);

}  // namespace furlong::tools
