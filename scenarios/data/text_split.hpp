// Which text of a table goes to which part of which client.
#pragma once

#include <vector>

#include "scenarios/data/division.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

/// The texts of a table by client and part.
struct text_split {
  user_groups groups;
  std::vector<std::uint32_t> texts;  ///< numbers of texts: client after client, part after part
  std::vector<std::size_t> begins;   ///< of part p of client c in `texts` at 3 c + p, and the end

  [[nodiscard]] std::size_t clients() const { return (begins.size() - 1) / 3; }
};

/// Divides as scenarios/data/division.hpp says. Clients with a use of their own are held out for it with all their
/// texts; texts that the source keeps for the test are the last of their client's test part. The others are divided by
/// the settings.
[[nodiscard]] text_split divide_texts(const text_table& table, const split_settings& settings);

/// How often each word of the table occurs in what is trained on.
[[nodiscard]] std::vector<std::uint32_t> count_words(const text_table& table, const text_split& split);

}  // namespace furlong::scenarios
