// Whose record a piece of a damaged file was.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::storage::detail {

/// The name of a client's column family, "client-17", and back. Empty when it is not such a name.
[[nodiscard]] std::string family_name(std::uint32_t client);
[[nodiscard]] std::optional<std::uint32_t> client_of_family(std::string_view name);

/// Key of one of a client's two records inside its family. It names the client again, for damaged logs.
using record_key = std::array<char, 5>;
[[nodiscard]] record_key make_key(std::uint32_t client, std::size_t slot);

/// The client whose record a damaged piece of a write-ahead log was. Such a piece names it three times: by family, key
/// and record; two that agree decide. `families`: family names by family id. Empty when it cannot be told.
[[nodiscard]] std::optional<std::uint32_t> owner_in_log(std::string_view payload,
                                                        const std::vector<std::string>& families);
/// The same for a piece of a MANIFEST, which names families.
[[nodiscard]] std::optional<std::uint32_t> owner_in_manifest(std::string_view payload);

}  // namespace furlong::storage::detail
