#include "scenarios/parameters/array_file.hpp"

#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

std::uint64_t count_of(std::span<const std::uint32_t> shape) {
  std::uint64_t count = 1;
  for (const auto extent : shape) {
    if (extent != 0 && count > UINT64_MAX / 8 / extent) return UINT64_MAX / 8;  // more than any file has
    count *= extent;
  }
  return count;
}

std::string shape_text(std::span<const std::uint32_t> shape) {
  std::string text;
  for (const auto extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "a number" : text;
}

std::span<const element_type> element_types() {
  static constexpr element_type all[] = {
      {"float32", "<f4", "F32", 4}, {"float64", "<f8", "F64", 8}, {"float16", "<f2", "F16", 2},
      {"bfloat16", "", "BF16", 2},  {"int64", "<i8", "I64", 8},   {"int32", "<i4", "I32", 4},
      {"int16", "<i2", "I16", 2},   {"int8", "|i1", "I8", 1},     {"uint8", "|u1", "U8", 1},
      {"bool", "|b1", "BOOL", 1},
  };
  return all;
}

std::string widened(std::string_view bfloat16) {
  std::string bytes(2 * bfloat16.size(), '\0');  // the upper half of each float32, little-endian
  for (std::size_t i = 0; i + 1 < bfloat16.size(); i += 2) bfloat16.copy(bytes.data() + 2 * i + 2, 2, i);
  return bytes;
}

const element_type* find_type(std::string_view name) {
  for (const auto& type : element_types())
    if (type.name == name) return &type;
  return nullptr;
}

result<void> check_array_file_name(const std::filesystem::path& path, const std::string& place) {
  if (path.extension() == ".npz" || path.extension() == ".safetensors") return {};
  return fail(error::kind::usage, place, "is " + path.string() + ", and its format is not known",
              "end the name in .npz or .safetensors");
}

result<std::string> array_file(const std::filesystem::path& path, std::span<const array_view> arrays) {
  if (path.extension() == ".npz") return npz_of(arrays);
  return safetensors_of(arrays);
}

result<std::vector<named_array>> read_array_file(const std::filesystem::path& path) {
  const auto file = mapped_file::open(path);
  if (!file) return tl::unexpected(file.error());
  const auto read = path.extension() == ".npz" ? read_npz : read_safetensors;
  return read(file->bytes(), path.string());
}

}  // namespace furlong::scenarios
