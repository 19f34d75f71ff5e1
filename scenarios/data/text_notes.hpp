// What is worth knowing of texts once they are divided, a line each.
#pragma once

#include <string>
#include <vector>

#include "scenarios/data/text_split.hpp"

namespace furlong::scenarios {

/// Notes what the settings take from the training texts of a source that keeps validation or test apart.
void note_own_parts(const text_table& table, const split_settings& settings, std::vector<std::string>& notes);

/// Notes how many of the examples that are not trained on have a label that no example trained on has. Nothing where
/// texts have no labels. One pass over the texts.
void note_untrained_labels(const text_table& table, const text_split& split, std::vector<std::string>& notes);

}  // namespace furlong::scenarios
