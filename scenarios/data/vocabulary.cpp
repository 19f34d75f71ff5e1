#include "scenarios/data/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace furlong::scenarios {

std::string vocabulary::name_of(std::uint32_t token) const {
  constexpr std::array<const char*, models::first_word> special = {"<start>", "<end>", "<unknown>"};
  if (token < models::first_word) return special[token];
  if (token < known()) return std::string(words[token - models::first_word]);
  return "unknown words " + std::to_string(token - known());
}

vocabulary choose_vocabulary(const word_list& list, std::span<const std::uint32_t> counts, std::uint32_t most,
                             std::uint32_t buckets) {
  std::vector<std::uint32_t> ranked(list.size());
  std::iota(ranked.begin(), ranked.end(), 0U);
  std::erase_if(ranked, [&](auto word) { return list[word] == unknown_word || (most != 0 && counts[word] == 0); });
  std::ranges::stable_sort(ranked, std::greater{}, [&](auto word) { return counts[word]; });
  if (most != 0 && ranked.size() > most) ranked.resize(most);

  vocabulary made;
  made.buckets = buckets;
  made.token_of.assign(list.size(), models::unknown_token);
  for (const auto word : ranked) made.token_of[word] = models::first_word + made.words.add(list[word]);
  if (buckets == 0) return made;
  for (std::uint32_t word = 0; word < list.size(); ++word)
    if (made.token_of[word] == models::unknown_token && list[word] != unknown_word)
      made.token_of[word] = made.known() + static_cast<std::uint32_t>(word_hash(list[word]) % buckets);
  return made;
}

}  // namespace furlong::scenarios
