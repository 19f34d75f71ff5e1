// How many bits a number has between processes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace furlong::federated {

/// How the numbers of a tensor travel (federated/quantization.hpp).
enum class number_format : std::uint8_t {
  float32,  ///< 4 bytes, as they are
  float16,  ///< 2 bytes, a half; beyond 65504 that (models/half.hpp)
  /// 1 byte, and 4 more for every `values_per_scale` numbers: number = scale * code, codes -127 to 127. Scales have 16
  /// significant bits, so that the product is exact.
  int8,
};
constexpr std::size_t number_format_count = 3;

}  // namespace furlong::federated
