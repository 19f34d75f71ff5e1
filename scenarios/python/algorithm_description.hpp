// What a trainer says of an algorithm: a part of the reply to an open request. docs/trainer-protocol.md.
#pragma once

#include <nlohmann/json.hpp>

#include "base/options.hpp"
#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

/// The options of a class, by name. Throws nlohmann::json::exception if they are not truth values, numbers or texts.
[[nodiscard]] option_values read_options(const nlohmann::ordered_json& reply);
/// Throws std::invalid_argument or nlohmann::json::exception if it is not understood.
[[nodiscard]] algorithm_description read_algorithm(const nlohmann::ordered_json& reply);

}  // namespace furlong::scenarios
