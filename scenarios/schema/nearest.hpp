// The word that somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace furlong::scenarios {

/// The candidate most similar to an unknown word, by edit distance; empty if none is similar.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// The same for dotted keys: a similar name in the same table first, then the same name in another table.
[[nodiscard]] std::string nearest_key(std::string_view key, const std::vector<std::string>& candidates);

}  // namespace furlong::scenarios
