// Assigns the texts of a table to the parts of clients.
#pragma once

#include <vector>

#include "scenarios/data/division.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

/// The texts of a table by client and part.
struct text_split {
  user_groups groups;
  std::vector<std::uint32_t> texts;  ///< text indices: client after client, part after part
  std::vector<std::size_t> begins;   ///< of part p of client c in `texts` at 3 c + p; and the end

  [[nodiscard]] std::size_t clients() const { return (begins.size() - 1) / 3; }
};

/// Splits as described in scenarios/data/division.hpp. Clients with a use of their own are held out for it with all
/// their texts; texts that the source provides for the test are last in their client's test part. The settings split
/// the others.
[[nodiscard]] text_split divide_texts(const text_table& table, const split_settings& settings);

/// Occurrences of each word of the table in the training parts.
[[nodiscard]] std::vector<std::uint32_t> count_words(const text_table& table, const text_split& split);

}  // namespace furlong::scenarios
