// Labels by name, as the numbers that models predict.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "scenarios/data/word_list.hpp"

namespace furlong::scenarios {

/// What labels of texts become.
struct numbered_labels {
  models::objective labels = models::objective::categorical;
  std::uint32_t classes = 0;       ///< of categorical ones
  std::vector<std::string> names;  ///< of categorical ones, by number
  std::vector<float> of_name;
};

/// Numbers classes by their names: whole numbers first, by size, then others, by bytes. With `positive` not empty
/// labels become 1 for that class and 0 for all others. Fails (kind data) when there is one class only, or none is
/// called `positive`. `place` stands for the file.
[[nodiscard]] result<numbered_labels> number_labels(const word_list& names, const std::string& positive,
                                                    const std::string& place);
/// The option `positive`.
[[nodiscard]] option_spec positive_option();
/// What labels will be.
[[nodiscard]] models::objective labels_of(const option_values& options);

}  // namespace furlong::scenarios
