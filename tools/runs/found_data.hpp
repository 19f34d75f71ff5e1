// What was found in the data of a scenario: for `validate`, and for the first line of a run.
#pragma once

#include <limits>
#include <string>

#include "scenarios/data/dataset.hpp"
#include "tools/runs/figures_json.hpp"

namespace furlong::tools {

/// "clients", "training", "unseen_validation", "unseen_test", of built-in data "items" or "words", "classes",
/// "examples" by part, and of texts "unknown_share": the share of the tokens that are not in the vocabulary.
/// docs/schemas/validate.schema.json has them. Examples are left out where only nodes have them.
/// @param most_counted with more clients their examples are not counted either, because they may be generated for it
[[nodiscard]] json found_data(const scenarios::dataset& data,
                              std::size_t most_counted = std::numeric_limits<std::size_t>::max());
/// The same as a line: "data: 500 clients (400 to train; ...), 300 items, 14000 examples (...)".
[[nodiscard]] std::string found_text(const json& found, const scenarios::dataset& data);

}  // namespace furlong::tools
