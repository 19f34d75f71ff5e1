// What is found out about a run by judging it: a line each.
#pragma once

#include <string>
#include <vector>

namespace furlong::tools {

struct finding {
  bool held = false;
  std::string text;  ///< "eval.unseen.rmse = 0.9012 (at most 0.91)"
};

/// "ok   TEXT" or "FAIL TEXT".
[[nodiscard]] inline std::string line_of(const finding& one) { return (one.held ? "ok   " : "FAIL ") + one.text; }

using findings = std::vector<finding>;

}  // namespace furlong::tools
