// Texts with a truth that is known, of users who differ in taste.
//
// Each user has a favourite class, drawn evenly. A text is of the favourite with probability `taste`, else of a class
// drawn evenly; its number of words is drawn evenly from about half of `length` to one and a half.
//
// task = classes: with probability `clarity` one word of a text is one that only its class uses; all others are common
// to all classes and drawn evenly. So a text tells its class in a share `clarity` of the cases and nothing otherwise,
// and of C classes no model is right more often than
//     clarity + (1 - clarity) / C                            knowing the text alone,
//     clarity + (1 - clarity) (taste + (1 - taste) / C)      knowing the text and its user.
//
// task = next_word: a word is one of the user's own with probability `own_share`; else, with probability `clarity`, the
// follower of the word before, else drawn evenly. The follower of the shared word w in a text of class c is
// w + 1 + c (modulo `words`), that of an own word was drawn for its user. Own words are in no vocabulary.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/data/dataset.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

struct synthetic_text_settings {
  std::uint64_t seed = 1;
  bool next_word = false;  ///< else classes
  std::uint32_t users = 200;
  std::uint32_t texts_per_user = 50;
  std::uint32_t classes = 8;
  std::uint32_t words = 200;  ///< shared by all users; at least twice the classes
  std::uint32_t length = 8;
  double taste = 0.7;
  double clarity = 0.5;
  std::uint32_t own_words = 5;  ///< next_word: of each user
  double own_share = 0.1;
};

/// The class that a user favours.
[[nodiscard]] std::uint32_t favourite_of(const synthetic_text_settings& settings, std::uint32_t user);

/// Appends one user's texts; the user becomes the next client. Draws are keyed by (seed, user). Tokens below `words`
/// are shared words, and the user's own word w is token words + word_hash("user U word w") % buckets, or `words` when
/// there are no buckets. The first (words / classes) / 2 * classes shared words belong to one class each.
void append_texts(const synthetic_text_settings& settings, std::uint32_t user, std::uint32_t buckets, text_table& to);

[[nodiscard]] dataset_entry synthetic_texts_entry();

}  // namespace furlong::scenarios
