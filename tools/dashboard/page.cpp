#include "tools/dashboard/detail/page.hpp"

#include "tools/page/page.hpp"

namespace furlong::tools::dashboard {

const built_page& the_page() {
  static const built_page page = [] {
    const auto script = std::string(chart_script) + std::string(dashboard_script);
    return built_page{fill_template(dashboard_page, {{"style", page_style}, {"script", script}}),
                      "default-src 'none'; connect-src 'self'; img-src data:; style-src " + policy_source(page_style) +
                          "; script-src " + policy_source(script) +
                          "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"};
  }();
  return page;
}

}  // namespace furlong::tools::dashboard
