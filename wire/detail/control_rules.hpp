// Checks of control messages on both sides: before sending, and after receiving.
#pragma once

#include "base/result.hpp"
#include "wire/control.hpp"

namespace furlong::wire::detail {

/// Lengths, order of ranges, enumerated values, text, and that scores are finite. Errors name the field.
[[nodiscard]] result<void> check(const control& message);

}  // namespace furlong::wire::detail
