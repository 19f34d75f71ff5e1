#include "base/registry.hpp"

#include "models/entries.hpp"
#include "models/model.hpp"

namespace furlong::models {

namespace {

registry<model_entry>& table() {
  static registry<model_entry> entries = {{
      matrix_factorization_entry(),
      logistic_regression_entry(),
      gru_lm_entry(),
      lstm_nwp_entry(),
      doc_classifier_entry(),
      python_entry(),
  }};
  return entries;
}

}  // namespace

const std::vector<model_entry>& registered_models() { return table().entries; }

void register_model(model_entry entry) { table().add(std::move(entry)); }

const model_entry* find_model(std::string_view kind) { return table().find(kind); }

}  // namespace furlong::models
