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

named_array array_from(std::string name, std::vector<std::uint32_t> shape, std::string_view bytes) {
  named_array made{std::move(name), std::move(shape), std::vector<float>(bytes.size() / sizeof(float))};
  if (!bytes.empty()) std::memcpy(made.values.data(), bytes.data(), bytes.size());
  return made;
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
