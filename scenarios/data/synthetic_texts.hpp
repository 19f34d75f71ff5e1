// Generated texts with known parameters, of users who differ in taste.
//
// Each user has a favourite class, drawn uniformly. A text is of the favourite with probability `taste`, else of a
// uniform class; its number of words is uniform between about half and one and a half times `length`.
//
// task = classes: with probability `clarity` one word of a text is specific to its class; all other words are common to
// all classes and uniform. So a text reveals its class with probability `clarity`, and with C classes no model has a
// higher accuracy than
//     clarity + (1 - clarity) / C                            given the text alone,
//     clarity + (1 - clarity) (taste + (1 - taste) / C)      given the text and its user.
//
// task = next_word: a word is user-specific with probability `own_share`; else, with probability `clarity`, the
// follower of the previous word, else uniform. The follower of the shared word w in a text of class c is w + 1 + c
// (modulo `words`); that of a user-specific word is drawn for its user. User-specific words are not in the vocabulary.
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

/// The favourite class of a user.
[[nodiscard]] std::uint32_t favourite_of(const synthetic_text_settings& settings, std::uint32_t user);

/// Appends one user's texts; the user becomes the next client. Draws are keyed by (seed, user). Tokens below `words`
/// are shared words; the user-specific word w is token words + word_hash("user U word w") % buckets, or `words` without
/// buckets. The first (words / classes) / 2 * classes shared words are specific to one class each.
void append_texts(const synthetic_text_settings& settings, std::uint32_t user, std::uint32_t buckets,
                  text_table& table);

[[nodiscard]] dataset_entry synthetic_texts_entry();

}  // namespace furlong::scenarios
