// The files of tools/dashboard/page, as they were built into the program.
#pragma once

#include <string_view>

namespace furlong::tools::dashboard {

extern const std::string_view dashboard_page;
extern const std::string_view dashboard_script;

}  // namespace furlong::tools::dashboard
