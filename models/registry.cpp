#include <algorithm>

#include "models/entries.hpp"
#include "models/model.hpp"

namespace furlong::models {

namespace {

std::vector<model_entry>& table() {
  // One entry per model. An explicit table, because a linker drops the static initialisers of a static library.
  static std::vector<model_entry> entries = {
      matrix_factorization_entry(), logistic_regression_entry(), gru_lm_entry(), lstm_nwp_entry(),
      doc_classifier_entry(),
  };
  return entries;
}

}  // namespace

const std::vector<model_entry>& registered_models() { return table(); }

void register_model(model_entry entry) {
  auto& entries = table();
  const auto same = std::ranges::find(entries, entry.kind, &model_entry::kind);
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

const model_entry* find_model(std::string_view kind) {
  const auto& entries = table();
  const auto at = std::ranges::find(entries, kind, &model_entry::kind);
  return at == entries.end() ? nullptr : &*at;
}

}  // namespace furlong::models
