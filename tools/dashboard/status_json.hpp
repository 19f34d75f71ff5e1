// What /api/status and /api/rounds answer. Keys may be added, none renamed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/dashboard/federation_status.hpp"

namespace furlong::tools::dashboard {

using json = nlohmann::ordered_json;

/// All but the rounds, of which the last is there. Times are seconds since 1970, spans are seconds.
[[nodiscard]] json status_json(const federation_status& status);
/// {"rounds": [...]}, one object per record.
[[nodiscard]] json rounds_json(const std::vector<round_record>& rounds);
/// One line. Bytes that are not UTF-8 come out as U+FFFD; numbers that JSON does not have as null.
[[nodiscard]] std::string text_of(const json& document);

}  // namespace furlong::tools::dashboard
