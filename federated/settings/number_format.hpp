// Number formats between processes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace furlong::federated {

/// The format of a tensor's numbers (federated/experiment/quantization.hpp).
enum class number_format : std::uint8_t {
  float32,  ///< 4 bytes, unchanged
  float16,  ///< 2 bytes, IEEE half, limited to 65504 (models/half.hpp)
  /// 1 byte, and 4 for every `values_per_scale` numbers: number = scale * code, codes -127 to 127. Scales have 16
  /// significant bits, so the product is exact.
  int8,
};
constexpr std::size_t number_format_count = 3;

}  // namespace furlong::federated
