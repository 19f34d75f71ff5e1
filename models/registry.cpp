#include "base/registry.hpp"

#include <array>
#include <cmath>
#include <set>
#include <stdexcept>

#include "models/entries.hpp"
#include "models/model.hpp"

namespace furlong::models {

namespace {

registry<model_entry>& table() {
  static registry<model_entry> entries = {{
      matrix_factorization_entry(),
      score_function_entry(),
      neural_cf_entry(),
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

std::string fault_of(const model& made, const data_facts& facts) {
  const auto& tensors = made.tensors();
  if (!tensors || tensors->count() == 0) return "has no tensors";
  std::set<std::string_view> names;
  std::uint32_t feature_rows = 0;
  std::vector<float> values;
  for (std::size_t t = 0; t < tensors->count(); ++t) {
    const auto& spec = (*tensors)[t];
    const auto tensor = "tensor \"" + spec.name + "\"";
    if (spec.name.empty()) return "has a tensor without a name";
    if (!names.insert(spec.name).second) return "has " + tensor + " twice";
    if (spec.size() == 0) return "has " + tensor + " without values";
    const auto rows_for = [&](std::uint32_t count, const char* subject) {
      return spec.rows >= count ? std::string()
                                : "has " + std::to_string(spec.rows) + " rows of " + tensor + " for " +
                                      std::to_string(count) + " " + subject;
    };
    std::string fault;
    if (spec.index == row_index::by_feature) {
      if (feature_rows != 0 && spec.rows != feature_rows) return "has other rows of features in " + tensor;
      feature_rows = spec.rows;
      fault = rows_for(facts.features, "features");
    } else if (spec.index == row_index::by_client) {
      fault = rows_for(facts.clients, "clients");
    }
    if (!fault.empty()) return fault;
    values.assign(spec.size(), 0.0F);
    made.initialize(t, random_stream(0, purpose::initialize_shared, 0, 0, static_cast<std::uint32_t>(t)), values);
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
      return "sets first values of " + tensor + " that are not finite";
  }
  return {};
}

void register_model(model_entry entry) {
  if (!entry.build) throw std::invalid_argument("model \"" + entry.kind + "\" cannot be built");
  constexpr std::array<std::string_view, 3> taken = {"kind", "private", "start_from"};
  check_options(entry.options, "model", taken);
  entry.build = [build = std::move(entry.build), kind = entry.kind](
                    const option_values& options, const data_facts& facts) -> result<std::shared_ptr<const model>> {
    auto made = build(options, facts);
    if (!made) return made;
    const auto fault = *made == nullptr ? "is built as null" : fault_of(**made, facts);
    if (fault.empty()) return made;
    return fail(error::kind::usage, "model.kind", "is \"" + kind + "\", which " + fault, "correct the model");
  };
  table().add(std::move(entry));
}

const model_entry* find_model(std::string_view kind) { return table().find(kind); }

}  // namespace furlong::models
