// The kernel levels that this processor supports, and the choice of the one in use (kernels.hpp).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/kernels/kernels.hpp"

namespace furlong::models {

/// At least one, in ascending order. A level is listed only if the processor and the operating system have every
/// feature that a compiler may use for it (x86-64 psABI: x86-64-v3 and x86-64-v4): virtual machines mask single ones.
/// Thread-safe.
[[nodiscard]] std::span<const kernel_table* const> supported_kernels();

/// The name of a level today; "portable" was called "x86-64" and "generic". Thread-safe.
[[nodiscard]] std::string_view current_level_name(std::string_view name);

/// Names of the levels that use_kernels() takes, in ascending order: all that are supported, or only the one in
/// FURLONG_KERNEL_LEVEL. Throws as kernels() does.
[[nodiscard]] std::vector<std::string_view> usable_levels();

/// Makes another level the one in use by this process. False: it is not one of usable_levels(). To be called while no
/// other thread computes: levels differ in the layout of packed matrices.
[[nodiscard]] bool use_kernels(std::string_view level);

}  // namespace furlong::models
