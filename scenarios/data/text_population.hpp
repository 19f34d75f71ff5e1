// Populations of texts or sparse vectors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "federated/experiment/population.hpp"
#include "scenarios/data/text_split.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

/// The facts of a table with a vocabulary.
[[nodiscard]] models::data_facts text_facts(const text_table& table, const vocabulary& words, models::objective labels,
                                            std::uint32_t classes = 0);

/// The size of texts whose tokens are predicted one after the other.
struct text_size {
  std::uint64_t predictions = 0;  ///< tokens and ends
  std::uint64_t characters = 0;   ///< code points, with a blank between two words and one for each end
  std::uint64_t unknown = 0;      ///< of the tokens: outside the vocabulary
};

/// A population whose texts have sizes that do not depend on the vocabulary, nor, but for predictions, on the tokens.
class sized_texts {
 public:
  virtual ~sized_texts() = default;
  [[nodiscard]] virtual text_size size_of(std::uint32_t client, federated::part which) const = 0;
};

/// Lays the texts out by client and part: 4 bytes per token and 8 per text stay in memory; loads refer to them and
/// allocate nothing. Examples of next_token are a start, the text and an end, with label 0; others are the text alone.
/// A client's taste is the normal score of its mean label by rank if labels are 0 and 1; else 0.
/// @param words maps and names the tokens; unused if facts.words is 0
/// @param tokens of texts that somebody wrote, to predict the next one: then the population is one of sized_texts
[[nodiscard]] std::shared_ptr<const federated::population> make_text_population(const text_table& table,
                                                                                text_split split, vocabulary words,
                                                                                const models::data_facts& facts,
                                                                                std::optional<token_kind> tokens = {});

// Notes about split texts, a line each.

/// Notes the share that the settings take from the training texts of a source with its own validation or test part.
void note_own_parts(const text_table& table, const split_settings& settings, std::vector<std::string>& notes);

/// Notes the number of validation and test examples whose label no training example has. None if texts have no labels.
/// One pass over the texts.
void note_untrained_labels(const text_table& table, const text_split& split, std::vector<std::string>& notes);

}  // namespace furlong::scenarios
