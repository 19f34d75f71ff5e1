// Built-in datasets: one function each, listed in the table of datasets.cpp.
#pragma once

#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

[[nodiscard]] dataset_entry movielens_entry();
[[nodiscard]] dataset_entry hosted_ratings_entry();
[[nodiscard]] dataset_entry interactions_entry();
[[nodiscard]] dataset_entry text_entry();
[[nodiscard]] dataset_entry labelled_text_entry();
[[nodiscard]] dataset_entry leaf_entry();
[[nodiscard]] dataset_entry python_data_entry();

}  // namespace furlong::scenarios
