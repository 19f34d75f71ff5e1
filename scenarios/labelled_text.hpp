// Texts with labels, from one file: classification of each client's texts.
#pragma once

#include "scenarios/dataset.hpp"

namespace furlong::scenarios {

[[nodiscard]] dataset_entry labelled_text_entry();

}  // namespace furlong::scenarios
