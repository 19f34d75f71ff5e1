// Cyclic redundancy checks of 32 bits, bit-reversed as in zip and TFRecord files.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace furlong {

inline constexpr std::uint32_t crc32_polynomial = 0xEDB88320U;   ///< zip
inline constexpr std::uint32_t crc32c_polynomial = 0x82F63B78U;  ///< Castagnoli

template <std::uint32_t Polynomial>
[[nodiscard]] std::uint32_t crc(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < made.size(); ++byte) {
      made[byte] = byte;
      for (int bit = 0; bit < 8; ++bit) made[byte] = (made[byte] >> 1U) ^ ((made[byte] & 1U) != 0 ? Polynomial : 0U);
    }
    return made;
  }();
  std::uint32_t value = UINT32_MAX;
  for (const char byte : bytes) value = (value >> 8U) ^ table[(value ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~value;
}

}  // namespace furlong
