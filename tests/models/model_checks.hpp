// Checks that tests of several models share.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/models/model_cases.hpp"

namespace furlong::tests {

/// Checks that what is dropped follows from the noise alone, and that the gradient of a model with dropout (every
/// tensor with row_index::none) is that of the network which the noise leaves.
inline void check_thinned_gradient(model_case& one) {
  const auto& shape = *one.model->tensors();
  std::vector<float> buffer(shape.size());
  std::vector<float*> targets;
  for (std::size_t t = 0; t < shape.count(); ++t) targets.push_back(buffer.data() + shape.offset(t));
  const auto loss_with = [&](std::uint32_t part) {
    models::random_stream noise(5, models::purpose::dropout, part);
    models::gradient_views out{targets, {}, {}, &noise};
    return one.model->gradient(one.views(one.weights), one.data.view(), out) /
           static_cast<double>(one.data.labels.size());
  };
  const double other = loss_with(1);
  const double loss = loss_with(0);
  BOOST_TEST(loss != other);
  const auto written = buffer;
  BOOST_TEST(loss_with(0) == loss);
  for (std::size_t i = 0; i < buffer.size(); i += 3) {
    auto& weight = one.weights[i];
    const float at = weight;
    weight = at + 0.01F;
    const double above = loss_with(0);
    weight = at - 0.01F;
    const double slope = (above - loss_with(0)) / 0.02;
    weight = at;
    BOOST_TEST(std::abs(slope - static_cast<double>(written[i])) < 5e-4 * (1 + std::abs(slope)), "weight " << i);
  }
}

/// "name ROWSxCOLS " of every tensor.
[[nodiscard]] inline std::string shapes_of(const models::model& of) {
  std::string text;
  for (const auto& spec : of.tensors()->tensors())
    text += spec.name + " " + std::to_string(spec.rows) + "x" + std::to_string(spec.cols) + " ";
  return text;
}

}  // namespace furlong::tests
