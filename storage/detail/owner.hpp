// Whose record a piece of a damaged file was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/detail/spread.hpp"

namespace furlong::storage::detail {

/// The client whose record a damaged piece of a write-ahead log was. Such a piece names it three times, in the family,
/// the key and the record; two that agree decide. `families`: family names by family id. Empty when it cannot be told.
[[nodiscard]] std::optional<std::uint32_t> owner_in_log(const spread& spread, std::string_view payload,
                                                        const std::vector<std::string>& families);
/// The same for a piece of a MANIFEST, which names families.
[[nodiscard]] std::optional<std::uint32_t> owner_in_manifest(const spread& spread, std::string_view payload);

}  // namespace furlong::storage::detail
