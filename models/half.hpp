// IEEE 754 binary16 as 16 bits. Portable: needs neither F16C nor a half type of the compiler.
#pragma once

#include <bit>
#include <cstdint>

namespace furlong::models {

/// The largest finite half.
constexpr float largest_half = 65504.0F;

/// The nearest half; of two, the one whose last bit is zero. Values beyond largest_half, infinities included, become
/// +-largest_half; a NaN stays a NaN.
[[nodiscard]] constexpr std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  // From 65520 on the nearest half would be 65536, which does not exist.
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7BFFU);
  if (magnitude >= 0x38800000U) {  // 2^-14: normal; the exponent's bias changes from 127 to 15
    const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13U & 1U);
    return static_cast<std::uint16_t>(sign | (rounded - 0x38000000U) >> 13U);
  }
  if (magnitude < 0x33000000U) return static_cast<std::uint16_t>(sign);  // below 2^-25, half of the smallest
  // Subnormal: a multiple of 2^-24.
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const std::uint32_t shift = 126U - (magnitude >> 23U);
  const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
  const std::uint32_t middle = 1U << (shift - 1U);
  std::uint32_t half = mantissa >> shift;
  if (rest > middle || (rest == middle && (half & 1U) != 0)) ++half;
  return static_cast<std::uint16_t>(sign | half);
}

/// The same number as a float; exact.
[[nodiscard]] constexpr float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = half >> 10U & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | mantissa << 13U);
  return std::bit_cast<float>(sign | (((half & 0x7FFFU) << 13U) + 0x38000000U));
}

}  // namespace furlong::models
