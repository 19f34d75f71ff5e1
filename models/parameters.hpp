// Values of a layout. Shared and private parameters are different types: passing private ones to code for shared ones
// (the wire, the server, the aggregation rules) does not compile.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "models/layout.hpp"

namespace furlong::models {

/// The values of all tensors of a layout, in one contiguous buffer of float32, zero at first.
/// Distinct threads may read one object; writing needs exclusive access.
template <class Side>
class parameters {
 public:
  parameters() = default;
  explicit parameters(layout_ptr shape) : shape_(std::move(shape)), values_(shape_->size(), 0.0F) {}

  [[nodiscard]] const layout_ptr& shape() const { return shape_; }
  [[nodiscard]] std::span<float> values() { return values_; }
  [[nodiscard]] std::span<const float> values() const { return values_; }
  /// The elements of one tensor, row by row.
  [[nodiscard]] std::span<float> tensor(std::size_t t) {
    return std::span(values_).subspan(shape_->offset(t), (*shape_)[t].size());
  }
  [[nodiscard]] std::span<const float> tensor(std::size_t t) const {
    return std::span(values_).subspan(shape_->offset(t), (*shape_)[t].size());
  }

 private:
  layout_ptr shape_;
  std::vector<float> values_;
};

/// Shared parameters: broadcast by the server, updated by aggregation.
using shared_parameters = parameters<struct shared_side>;
/// Private parameters of one client; they never leave its device.
using private_parameters = parameters<struct private_side>;

}  // namespace furlong::models
