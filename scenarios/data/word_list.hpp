// Distinct words in one buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace furlong::scenarios
