// Every registered model in every combination of its yes-or-no options, with examples that exercise it: what
// conformance tests run over. A model registered later is covered without a line here.
#pragma once

#include <string>
#include <vector>

#include "models/model.hpp"

namespace furlong::tests {

/// Words of the cases with token sequences; with buckets of unknown words, two more features.
inline constexpr std::uint32_t vocabulary = 7;

struct model_case {
  std::string name;  ///< kind and options, for messages
  std::shared_ptr<const models::model> model;
  models::examples data;
  std::vector<float> weights;  ///< of all tensors, drawn; nowhere special

  /// Views of `values` (as many as the layout has), one per tensor.
  [[nodiscard]] std::vector<models::tensor_view> views(std::vector<float>& values) const;
};

/// All cases. `one_client`: the examples belong to one client, so tables over clients have one row.
[[nodiscard]] std::vector<model_case> model_cases(bool one_client = false);

/// What a model wrote for one batch, with rows it did not mark set to zero and frozen tensors left empty.
struct written_gradient {
  double loss = 0.0;
  std::vector<std::vector<float>> tensors;
};
[[nodiscard]] written_gradient gradient_of(const model_case& of, std::vector<float>& weights,
                                           const std::vector<bool>& frozen);

}  // namespace furlong::tests
