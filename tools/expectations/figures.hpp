// Figures of a summary.json by their dotted keys.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace furlong::tools {

/// The value at a dotted key, "eval.unseen.rmse"; items of a list are numbered from 0. What summary.json leaves out
/// because it is zero (rejected.norm-bound, dropped.train) is 0.
/// Fails (kind usage) with what there is instead.
[[nodiscard]] result<nlohmann::ordered_json> figure_of(const nlohmann::ordered_json& summary, std::string_view key);

/// The value for people: numbers with at most six digits, or with `exactly` all that they have.
[[nodiscard]] std::string figure_text(const nlohmann::ordered_json& value, bool exactly = false);

}  // namespace furlong::tools
