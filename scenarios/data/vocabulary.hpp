// Which words a model knows, and what becomes of the others.
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

/// The 64-bit FNV-1a hash of a word: the same on every machine, so that hash buckets are too.
[[nodiscard]] std::uint64_t word_hash(std::string_view word);

/// Distinct words, numbered from 0 in order of first appearance. About 16 bytes a word beside its letters.
class word_list {
 public:
  /// The number of a word, which is added when it is new.
  std::uint32_t add(std::string_view word);
  /// The word of a number; valid until the next add().
  [[nodiscard]] std::string_view operator[](std::uint32_t number) const;
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  void grow();

  std::string letters_;
  std::vector<std::size_t> ends_;     // of each word in the letters
  std::vector<std::uint32_t> slots_;  // by hash, linear probing; a power of two of them, at most half in use
};

/// Token numbers: start, end and unknown (models/model.hpp), then words, then buckets of unknown words.
struct vocabulary {
  std::vector<std::uint32_t> token_of;  ///< of each word of a list
  word_list words;                      ///< word w is token first_word + w
  std::uint32_t buckets = 0;

  /// Tokens below this are of the vocabulary.
  [[nodiscard]] std::uint32_t known() const { return models::first_word + words.size(); }
  [[nodiscard]] std::uint32_t tokens() const { return known() + buckets; }
  /// "<start>", "<end>", "<unknown>", a word, or "unknown words 17".
  [[nodiscard]] std::string name_of(std::uint32_t token) const;
};

/// The word that files write for an unknown one.
constexpr std::string_view unknown_word = "<unk>";

/// Takes the `most` most frequent words, equal ones in the order of the list; 0: all of the list, even those that do
/// not occur. The others become unknown_token or, with buckets, the bucket known() + word_hash(word) % buckets. The
/// word
/// "<unk>" is unknown_token in any case.
/// @param counts one per word of the list
[[nodiscard]] vocabulary choose_vocabulary(const word_list& list, std::span<const std::uint32_t> counts,
                                           std::uint32_t most, std::uint32_t buckets);

}  // namespace furlong::scenarios
