// A registered part, examined by the laws of its kind in a scenario that uses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "scenarios/schema/scenario.hpp"
#include "tools/conformance/findings.hpp"

namespace furlong::tools {

enum class part_kind : std::uint8_t { algorithm, rule, policy, availability, model, dataset };
/// "algorithm"
[[nodiscard]] std::string_view kind_name(part_kind kind);
/// The names of all registered parts of a kind.
[[nodiscard]] std::vector<std::string> names_of_parts(part_kind kind);

struct part_request {
  part_kind kind = part_kind::algorithm;
  std::string name;
  /// In which the part takes the place of another one; empty: the first small scenario of generated data that it fits.
  std::filesystem::path scenario = {};
  std::vector<scenarios::setting_override> overrides = {};
};

/// Examines a part. Fails (kind usage) if there is no part of that name or the scenario does not fit it, and as
/// open_prepared_run() does.
[[nodiscard]] result<conformance::findings> examine_part(const part_request& request);

}  // namespace furlong::tools
