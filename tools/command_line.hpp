// Parts of the command line that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace furlong::tools {

/// What the command line asked for; run once it was parsed without fault.
using command = std::function<int()>;

void add_format(CLI::App* to, output_format& format);
void add_overrides(CLI::App* to, std::vector<scenarios::setting_override>& overrides);
void add_log_level(CLI::App* to, std::string& level, const std::string& doc);

/// serve, aggregate and join.
void add_federation(CLI::App& app, command& chosen);

}  // namespace furlong::tools
