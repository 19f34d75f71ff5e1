// How an algorithm is called where runs stand beside each other.
#pragma once

#include <string>
#include <string_view>

namespace furlong::tools {

/// "furl", or "python (Moon)".
/// @param of_class python.algorithm, "moon.py:Moon"; empty: the algorithm has no class
[[nodiscard]] inline std::string algorithm_name(const std::string& kind, std::string_view of_class) {
  if (of_class.empty()) return kind;
  return kind + " (" + std::string(of_class.substr(of_class.rfind(':') + 1)) + ")";
}

}  // namespace furlong::tools
