// The kernel levels that this processor supports, independently of the level in use (kernels.hpp).
#pragma once

#include <span>
#include <string_view>

#include "models/kernels/kernels.hpp"

namespace furlong::models {

/// At least one, in ascending order. A level is listed only if the processor and the operating system have every
/// feature that a compiler may use for it (x86-64 psABI: x86-64-v3 and x86-64-v4): virtual machines mask single ones.
/// Thread-safe.
[[nodiscard]] std::span<const kernel_table* const> supported_kernels();

/// The name of a level today; "portable" was called "x86-64" and "generic". Thread-safe.
[[nodiscard]] std::string_view current_level_name(std::string_view name);

}  // namespace furlong::models
