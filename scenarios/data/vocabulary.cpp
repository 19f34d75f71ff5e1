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

namespace {

constexpr std::uint32_t vacant = UINT32_MAX;
constexpr std::size_t first_slots = 64;

}  // namespace

std::uint64_t word_hash(std::string_view word) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash;
}

std::string_view word_list::operator[](std::uint32_t number) const {
  const auto begin = number == 0 ? 0 : ends_[number - 1];
  return std::string_view(letters_).substr(begin, ends_[number] - begin);
}

std::uint32_t word_list::add(std::string_view word) {
  if (2 * (ends_.size() + 1) > slots_.size()) grow();
  const auto mask = slots_.size() - 1;
  auto slot = word_hash(word) & mask;
  for (; slots_[slot] != vacant; slot = (slot + 1) & mask)
    if ((*this)[slots_[slot]] == word) return slots_[slot];
  slots_[slot] = size();
  letters_ += word;
  ends_.push_back(letters_.size());
  return slots_[slot];
}

void word_list::grow() {
  slots_.assign(std::max(first_slots, 2 * slots_.size()), vacant);
  const auto mask = slots_.size() - 1;
  for (std::uint32_t number = 0; number < size(); ++number) {
    auto slot = word_hash((*this)[number]) & mask;
    while (slots_[slot] != vacant) slot = (slot + 1) & mask;
    slots_[slot] = number;
  }
}

}  // namespace furlong::scenarios
