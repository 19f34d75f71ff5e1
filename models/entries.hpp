// The built-in models: one function and one line of the table each. All are thread-safe (model.hpp).
#pragma once

#include "models/model.hpp"

namespace furlong::models {

[[nodiscard]] model_entry matrix_factorization_entry();
/// build() fails (kind usage) if the data has no interactions, likewise the next.
[[nodiscard]] model_entry score_function_entry();
[[nodiscard]] model_entry neural_cf_entry();
[[nodiscard]] model_entry logistic_regression_entry();
/// build() fails (kind usage) if the data is not sentences, and if `tied` is set with an embedding that is not as wide
/// as the layers or with data that has buckets.
[[nodiscard]] model_entry gru_lm_entry();
/// build() fails (kind usage) if the data is not sentences.
[[nodiscard]] model_entry lstm_nwp_entry();
/// build() fails (kind usage) if the data is not labelled texts (objectives logistic and categorical), and if
/// `user_table` is set without a user embedding.
[[nodiscard]] model_entry doc_classifier_entry();
/// build() makes a model that says what its parameters and metrics are, and cannot compute; it fails (kind usage) if
/// nothing says so. Of the model that comes with data of a Python class these are its options.
[[nodiscard]] model_entry python_entry();
[[nodiscard]] std::vector<std::string> described_parameters(const model& described);
[[nodiscard]] std::vector<std::string> described_metrics(const model& described);

}  // namespace furlong::models
