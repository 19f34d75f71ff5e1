// Clients with texts, or with sparse vectors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "federated/population.hpp"
#include "scenarios/data/text_split.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

/// The facts of a table whose words are numbered by a vocabulary.
[[nodiscard]] models::data_facts text_facts(const text_table& table, const vocabulary& words, models::objective labels,
                                            std::uint32_t classes = 0);

/// Lays the texts out by client and part: 4 bytes a token and 8 a text stay in memory, loads look into them and
/// allocate nothing. Examples of next_token are a start, the text and an end, their labels 0; others are the text
/// alone.
/// @param words numbers the tokens, and names them; not looked at when facts.words is 0
/// A client's taste is the normal score of its mean label by rank where labels are 0 and 1; else 0.
[[nodiscard]] std::shared_ptr<const federated::population> make_text_population(const text_table& table,
                                                                                text_split split, vocabulary words,
                                                                                const models::data_facts& facts);

// What is worth knowing of texts once they are divided, a line each.

/// Notes what the settings take from the training texts of a source that keeps validation or test apart.
void note_own_parts(const text_table& table, const split_settings& settings, std::vector<std::string>& notes);

/// Notes how many of the examples that are not trained on have a label that no example trained on has. Nothing where
/// texts have no labels. One pass over the texts.
void note_untrained_labels(const text_table& table, const text_split& split, std::vector<std::string>& notes);

}  // namespace furlong::scenarios
