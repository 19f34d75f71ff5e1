// Judges the [expect] table of a scenario against a finished run.
//
// What is found out about a run by judging it: a line each.
//
// Figures of a summary.json by their dotted keys.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

/// The value at a dotted key, "eval.unseen.rmse"; items of a list are numbered from 0. What summary.json leaves out
/// because it is zero (rejected.norm-bound, dropped.train) is 0.
/// Fails (kind usage) with what there is instead.
[[nodiscard]] result<nlohmann::ordered_json> figure_of(const nlohmann::ordered_json& summary, std::string_view key);

/// The value for people: numbers with at most six digits, or with `exactly` all that they have.
[[nodiscard]] std::string figure_text(const nlohmann::ordered_json& value, bool exactly = false);

struct finding {
  bool held = false;
  std::string text;  ///< "eval.unseen.rmse = 0.9012 (at most 0.91)"
};

/// "ok   TEXT" or "FAIL TEXT".
[[nodiscard]] inline std::string line_of(const finding& one) { return (one.held ? "ok   " : "FAIL ") + one.text; }

using findings = std::vector<finding>;

/// The summary of a baseline's run, or why there is none.
using baseline_summary = std::function<result<nlohmann::ordered_json>(const std::filesystem::path& scenario)>;

/// One finding per expectation, in order. A figure that the run does not have, or one that is not finite, fails.
[[nodiscard]] findings judge_expectations(const std::vector<scenarios::expectation>& expected,
                                          const nlohmann::ordered_json& summary, const baseline_summary& baseline);

}  // namespace furlong::tools
