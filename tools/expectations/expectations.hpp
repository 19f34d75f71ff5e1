// Checks the [expect] table of a scenario against a finished run, and reads figures of summary.json by dotted keys.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

/// The value at a dotted key, "eval.unseen.rmse"; list items are numbered from 0. A counter that summary.json omits
/// because it is zero (rejected.norm-bound, dropped.train) is 0. Fails (kind usage) with the available keys.
[[nodiscard]] result<nlohmann::ordered_json> figure_of(const nlohmann::ordered_json& summary, std::string_view key);

/// The value as text: numbers with at most six digits, or with `exactly` all digits.
[[nodiscard]] std::string figure_text(const nlohmann::ordered_json& value, bool exactly = false);

struct finding {
  bool held = false;
  std::string text;                   ///< "eval.unseen.rmse = 0.9012 (at most 0.91)"
  std::string name = {};              ///< the same in every run: "eval.unseen.rmse = {at_most = 0.91}", "accounting"
  nlohmann::ordered_json value = {};  ///< of the figure that an expectation is about; null: there is none
};

/// "ok   TEXT" or "FAIL TEXT".
[[nodiscard]] inline std::string line_of(const finding& found) { return (found.held ? "ok   " : "FAIL ") + found.text; }

using findings = std::vector<finding>;

/// The summary of a baseline's run, or the reason why there is none.
using baseline_summary = std::function<result<nlohmann::ordered_json>(const std::filesystem::path& scenario)>;

/// One finding per expectation, in order. A missing or non-finite figure fails.
[[nodiscard]] findings judge_expectations(const std::vector<scenarios::expectation>& expected,
                                          const nlohmann::ordered_json& summary, const baseline_summary& baseline);

// Invariants of every finished run, independent of its scenario.
//
//   1. Every task is accounted for: selected = folded + rejected + late + surplus + dropped + abandoned + in_flight, in
//      summary.json and, added up, after every line of metrics.jsonl; and the two agree.
//   2. No update is folded twice: no client has more updates in the model than it was given tasks, all records of
//      clients add up to the counts of the run, and no timeline of a round has a folded task twice.
//   3. Only algorithms that keep private state store private values.
//   4. All numbers are finite.
//   5. Time never goes back.

/// One finding per invariant, from the files of a finished run's directory. Fails (kind data) if a file is missing or
/// has a line that is not JSON.
[[nodiscard]] result<findings> judge_invariants(const std::filesystem::path& run);

}  // namespace furlong::tools
