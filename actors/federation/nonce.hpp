// Random 64-bit instance ids.
#pragma once

#include <cstdint>

namespace furlong::actors::federation {

/// 64 random bits from the operating system, never 0. No result may depend on them.
[[nodiscard]] std::uint64_t fresh_nonce();

}  // namespace furlong::actors::federation
