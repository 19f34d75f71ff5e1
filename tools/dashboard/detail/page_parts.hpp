// The files of tools/dashboard/page; embed.cmake makes the source that defines them.
#pragma once

#include <string_view>

namespace furlong::tools::dashboard {

extern const std::string_view page_style;
extern const std::string_view page_script;
extern const std::string_view page_body;

}  // namespace furlong::tools::dashboard
