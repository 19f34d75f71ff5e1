// The two disk layouts of a private store.
#pragma once

#include <cstdint>
#include <optional>
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
[[nodiscard]] constexpr std::optional<store_layout> store_layout_named(std::string_view name) {
  for (const auto layout : {store_layout::per_client, store_layout::bucketed})
    if (name == name_of(layout)) return layout;
  return std::nullopt;
}

}  // namespace furlong::storage
