// The files of tools/report/page, as they were built into the program.
#pragma once

#include <string_view>

namespace furlong::tools {

extern const std::string_view report_page;
extern const std::string_view report_script;

}  // namespace furlong::tools
