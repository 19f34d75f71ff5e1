#include "models/layers/dense.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

void dense_forward(const dense_weights& w, const tensor_view& x, const tensor_view& y) {
  if (w.bias != nullptr)
    for (std::uint32_t row = 0; row < y.rows; ++row) std::copy_n(w.bias, y.cols, y.row(row));
  multiply_nt(x, w.weight, y, w.bias != nullptr);
}

void dense_backward(const dense_weights& w, const tensor_view& x, const tensor_view& d_y,
                    const dense_gradient& gradient, const tensor_view& d_x) {
  if (gradient.bias != nullptr) sum_rows(d_y, gradient.bias);
  if (gradient.weight != nullptr) multiply_tn(d_y, x, {gradient.weight, w.weight.rows, w.weight.cols});
  if (d_x.data != nullptr) multiply_nn(d_y, w.weight, d_x);
}

}  // namespace furlong::models
