// Names that nobody had before.
#pragma once

#include <cstdint>

namespace furlong::actors::federation {

/// 64 bits of the system's randomness, never 0: for telling things apart. No result may depend on it.
[[nodiscard]] std::uint64_t fresh_nonce();

}  // namespace furlong::actors::federation
