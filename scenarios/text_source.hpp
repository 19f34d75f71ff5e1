// Plain text, a sentence a line, for language models.
#pragma once

#include "scenarios/dataset.hpp"

namespace furlong::scenarios {

[[nodiscard]] dataset_entry text_entry();

}  // namespace furlong::scenarios
