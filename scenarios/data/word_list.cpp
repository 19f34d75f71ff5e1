#include "scenarios/data/word_list.hpp"

#include <algorithm>

namespace furlong::scenarios {

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
