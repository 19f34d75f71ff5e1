#include "models/layers/relu.hpp"

namespace furlong::models {

void relu(const tensor_view& x) {
  for (std::size_t i = 0; i < x.size(); ++i) x.data[i] = x.data[i] < 0.0F ? 0.0F : x.data[i];  // NaN stays
}

void relu_backward(const tensor_view& y, const tensor_view& d) {
  for (std::size_t i = 0; i < y.size(); ++i) d.data[i] = y.data[i] > 0.0F ? d.data[i] : 0.0F;
}

}  // namespace furlong::models
