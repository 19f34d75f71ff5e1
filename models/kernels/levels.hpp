// The levels of the kernels that this processor can run, whichever the program chose for itself (kernels.hpp).
#pragma once

#include <span>

#include "models/kernels/kernels.hpp"

namespace furlong::models {

/// At least one, each needing more of the processor than the one before. A level is there only when the processor and
/// the operating system have every feature that a compiler may use for it (x86-64 psABI: x86-64-v3 and x86-64-v4):
/// virtual machines mask single ones. Thread-safe.
[[nodiscard]] std::span<const kernel_table* const> supported_kernels();

}  // namespace furlong::models
