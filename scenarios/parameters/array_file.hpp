// Files of named arrays: .npz of numpy and .safetensors. Little-endian, C order, bit for bit.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace furlong::scenarios {

/// The type of an array's elements, by its names.
struct element_type {
  std::string_view name;         ///< "float32", as numpy and PyTorch have it
  std::string_view npy;          ///< "<f4"; empty: numpy has no such type, and .npz has its values as float32
  std::string_view safetensors;  ///< "F32"
  std::size_t bytes;
};
[[nodiscard]] std::span<const element_type> element_types();
/// The type with this name; null: there is none.
[[nodiscard]] const element_type* find_type(std::string_view name);

struct array_view {
  std::string name;
  std::vector<std::uint32_t> shape;  ///< empty: one number
  std::string_view bytes;
  const element_type* type = &element_types().front();  ///< float32
};

/// An array of a file.
struct named_array {
  std::string name;
  std::vector<std::uint32_t> shape;
  std::string bytes;
  const element_type* type = &element_types().front();  ///< float32

  [[nodiscard]] bool is_float32() const { return type == &element_types().front(); }
};

/// The bytes of float32 values that equal these of bfloat16.
[[nodiscard]] std::string widened(std::string_view bfloat16);
/// Number of elements of a shape.
[[nodiscard]] std::uint64_t count_of(std::span<const std::uint32_t> shape);
/// "3 x 4"; "a number".
[[nodiscard]] std::string shape_text(std::span<const std::uint32_t> shape);

/// Fails (kind usage) if the ending is neither .npz nor .safetensors; `place` is that of the error.
[[nodiscard]] result<void> check_array_file_name(const std::filesystem::path& path, const std::string& place);
/// The content of a file with this ending. Fails (kind usage) if a zip file cannot hold it.
[[nodiscard]] result<std::string> array_file(const std::filesystem::path& path, std::span<const array_view> arrays);
/// Fails (kind data) if the file is missing, damaged, compressed, or has arrays of types that are not known.
[[nodiscard]] result<std::vector<named_array>> read_array_file(const std::filesystem::path& path);

// The two formats. `place` is the file, for errors.
[[nodiscard]] result<std::string> npz_of(std::span<const array_view> arrays);
[[nodiscard]] result<std::vector<named_array>> read_npz(std::string_view bytes, const std::string& place);
[[nodiscard]] std::string safetensors_of(std::span<const array_view> arrays);
[[nodiscard]] result<std::vector<named_array>> read_safetensors(std::string_view bytes, const std::string& place);

/// Appends a number's bytes.
template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// Numbers from bytes that are there.
template <class T>
[[nodiscard]] T number_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
inline std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace furlong::scenarios
