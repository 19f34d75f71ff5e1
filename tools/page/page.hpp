// Web pages of one file each: a template with its style, script and data put in. Reports and the dashboard share style,
// helpers and charts, which embed.cmake makes part of the program.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace furlong::tools {

/// `text` with each {{name}} replaced by the value of that name. What is put in is not searched again.
/// Throws std::logic_error for a name without a value.
[[nodiscard]] std::string fill_template(std::string_view text,
                                        std::initializer_list<std::pair<std::string_view, std::string_view>> values);

/// For a place between tags or in an attribute. Control characters become U+FFFD.
[[nodiscard]] std::string escape_html(std::string_view text);

/// The source of a Content-Security-Policy that allows exactly this text between <style> or <script> tags.
[[nodiscard]] std::string policy_source(std::string_view text);

extern const std::string_view page_style;
/// Vega, the specifications of the charts, and functions that the scripts of pages call.
extern const std::string_view chart_script;

}  // namespace furlong::tools
