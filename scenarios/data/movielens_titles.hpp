// Film titles of MovieLens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

/// The titles of some films, in UTF-8; "" for missing ones. `item_ids` is ascending. Formats: id::title::genres in
/// Latin-1 (colons), id|title|... in Latin-1 (tabs), movieId,title,genres in UTF-8 with quotes and this header (csv).
/// Fails (kind data) at a malformed line, naming it.
[[nodiscard]] result<std::vector<std::string>> read_titles(std::string_view text, const std::string& name,
                                                           rating_format format,
                                                           const std::vector<std::uint32_t>& item_ids);

}  // namespace furlong::scenarios
