// Private values that wait: without the rows of zeros, of which a tensor over all items has many.
#pragma once

#include <cstdint>
#include <vector>

#include "base/digest.hpp"
#include "models/parameters.hpp"

namespace furlong::models {

/// A copy of one client's private values, without rows whose values are all 0 (-0 is not 0). Empty at first.
class packed_private {
 public:
  packed_private() = default;
  explicit packed_private(const private_parameters& parameters);

  [[nodiscard]] bool empty() const { return !shape_; }
  /// Adds what distinguishes it from other values of its layout.
  void add_to(sha256_stream& digest) const;
  /// All values. Not of an empty object.
  [[nodiscard]] private_parameters unpacked() const;

 private:
  layout_ptr shape_;
  std::vector<std::uint32_t> rows_;  ///< those kept, counted over all tensors, ascending
  std::vector<float> values_;        ///< of these rows
};

}  // namespace furlong::models
