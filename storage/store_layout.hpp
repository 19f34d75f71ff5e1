// The two disk layouts of a private store.
#pragma once

#include <cstdint>
#include <string_view>

namespace furlong::storage {

enum class store_layout : std::uint8_t {
  per_client,  ///< a column family per client: nodes that host few clients, simulations of some 10,000
  bucketed     ///< a column family per bucket of clients, the client's number as the key's prefix: large populations
};

/// "per-client" or "bucketed", as scenarios write it.
[[nodiscard]] constexpr std::string_view name_of(store_layout layout) {
  return layout == store_layout::bucketed ? "bucketed" : "per-client";
}

}  // namespace furlong::storage
