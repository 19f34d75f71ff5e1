// Vocabulary of a model, and the mapping of words outside it.
//
// Distinct words in one buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.hpp"

namespace furlong::scenarios {

/// The 64-bit FNV-1a hash of a word: hash buckets are the same on every machine.
[[nodiscard]] std::uint64_t word_hash(std::string_view word);

/// Distinct words, numbered from 0 in order of first appearance. About 16 bytes per word in addition to its letters.
class word_list {
 public:
  /// The number of a word; new words are added.
  std::uint32_t add(std::string_view word);
  /// The word of a number; valid until the next add().
  [[nodiscard]] std::string_view operator[](std::uint32_t number) const;
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  void grow();

  std::string letters_;
  std::vector<std::size_t> ends_;     // end of each word in the letters
  std::vector<std::uint32_t> slots_;  // hash table with linear probing; a power of two in size, at most half full
};

/// Token numbers: start, end and unknown (models/model.hpp), then words, then buckets of unknown words.
struct vocabulary {
  std::vector<std::uint32_t> token_of;  ///< by word of a list
  word_list words;                      ///< word w is token first_word + w
  std::uint32_t buckets = 0;

  /// Tokens below this are in the vocabulary.
  [[nodiscard]] std::uint32_t known() const { return models::first_word + words.size(); }
  [[nodiscard]] std::uint32_t tokens() const { return known() + buckets; }
  /// "<start>", "<end>", "<unknown>", a word, or "unknown words 17".
  [[nodiscard]] std::string name_of(std::uint32_t token) const;
};

/// The word for an unknown one in files.
constexpr std::string_view unknown_word = "<unk>";

/// Selects the `most` most frequent words, ties in the order of the list; 0: the whole list, including words that do
/// not occur. Other words become unknown_token or, with buckets, the bucket known() + word_hash(word) % buckets. The
/// word "<unk>" is always unknown_token.
/// @param counts one per word of the list
[[nodiscard]] vocabulary choose_vocabulary(const word_list& list, std::span<const std::uint32_t> counts,
                                           std::uint32_t most, std::uint32_t buckets);

}  // namespace furlong::scenarios
