// .npz: a zip archive without compression of .npy files, one for each array.
#include <algorithm>
#include <charconv>

#include "base/crc.hpp"
#include "scenarios/parameters/array_file.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::uint32_t local_mark = 0x04034B50U;
constexpr std::uint32_t central_mark = 0x02014B50U;
constexpr std::uint32_t end_mark = 0x06054B50U;
constexpr std::size_t local_size = 30;
constexpr std::size_t central_size = 46;
constexpr std::size_t end_size = 22;
constexpr std::uint16_t utf8_names = 0x0800;
constexpr std::uint16_t first_day = 0x0021;  // 1980-01-01: the same arrays give the same bytes

constexpr std::string_view npy_mark = "\x93NUMPY";

std::string npy_of(const array_view& view) {
  if (view.type->npy.empty()) {
    const auto values = widened(view.bytes);
    return npy_of({view.name, view.shape, values});
  }
  std::string header = "{'descr': '" + std::string(view.type->npy) + "', 'fortran_order': False, 'shape': (";
  for (const auto extent : view.shape) header += std::to_string(extent) + (view.shape.size() == 1 ? "," : ", ");
  if (view.shape.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  constexpr std::size_t before = 10;
  header.resize((before + header.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  header += '\n';
  std::string file(npy_mark);
  file += std::string_view("\x01\x00", 2);
  put(file, static_cast<std::uint16_t>(header.size()));
  file += header;
  file += view.bytes;
  return file;
}

/// What the local header and the central directory say alike of a file.
std::string common_fields(const std::string& name, const std::string& content) {
  std::string fields;
  for (const std::uint16_t field : {std::uint16_t{20}, utf8_names, std::uint16_t{0}, std::uint16_t{0}, first_day})
    put(fields, field);
  put(fields, crc<crc32_polynomial>(content));
  put(fields, static_cast<std::uint32_t>(content.size()));
  put(fields, static_cast<std::uint32_t>(content.size()));
  put(fields, static_cast<std::uint16_t>(name.size()));
  put(fields, std::uint16_t{0});
  return fields;
}

/// What reads one archive.
class npz_reader {
 public:
  npz_reader(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}
  [[nodiscard]] result<std::vector<named_array>> read() const;

 private:
  [[nodiscard]] tl::unexpected<error> damaged(const std::string& why) const {
    return fail(error::kind::data, place_, "is no whole npz file: " + why,
                "write it again, with furlong export or numpy.savez");
  }
  [[nodiscard]] result<std::string_view> content(std::size_t entry, const std::string& name) const;
  [[nodiscard]] result<named_array> array(std::string_view npy, std::string name) const;

  std::string_view bytes_;
  const std::string& place_;
};

result<std::vector<named_array>> npz_reader::read() const {
  if (bytes_.size() < end_size) return damaged("it has " + std::to_string(bytes_.size()) + " bytes");
  std::size_t end = bytes_.size() - end_size;
  while (end > 0 && bytes_.size() - end < UINT16_MAX && number_at<std::uint32_t>(bytes_, end) != end_mark) --end;
  if (number_at<std::uint32_t>(bytes_, end) != end_mark) return damaged("it is no zip archive, or its end is missing");
  const auto count = number_at<std::uint16_t>(bytes_, end + 10);
  std::size_t position = number_at<std::uint32_t>(bytes_, end + 16);
  if (count == UINT16_MAX || position == UINT32_MAX)
    return fail(error::kind::data, place_, "is a zip archive above 4 GB", "write a .safetensors file");
  std::vector<named_array> arrays;
  for (std::size_t i = 0; i < count; ++i) {
    if (position + central_size > end || number_at<std::uint32_t>(bytes_, position) != central_mark)
      return damaged("its directory is damaged");
    const auto length = number_at<std::uint16_t>(bytes_, position + 28);
    const auto next = position + central_size + length + number_at<std::uint16_t>(bytes_, position + 30) +
                      number_at<std::uint16_t>(bytes_, position + 32);
    if (next > end) return damaged("its directory is damaged");
    std::string name(bytes_.substr(position + central_size, length));
    const auto npy = content(position, name);
    if (!npy) return tl::unexpected(npy.error());
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    auto entry = array(*npy, std::move(name));
    if (!entry) return tl::unexpected(entry.error());
    arrays.push_back(std::move(*entry));
    position = next;
  }
  return arrays;
}

result<std::string_view> npz_reader::content(std::size_t entry, const std::string& name) const {
  if (number_at<std::uint16_t>(bytes_, entry + 10) != 0)
    return fail(error::kind::data, place_, "is compressed", "write it with numpy.savez, not savez_compressed");
  const auto size = number_at<std::uint32_t>(bytes_, entry + 20);
  const std::size_t local = number_at<std::uint32_t>(bytes_, entry + 42);
  if (local + local_size > bytes_.size() || number_at<std::uint32_t>(bytes_, local) != local_mark)
    return damaged(name + " is not where the directory says");
  const auto start =
      local + local_size + number_at<std::uint16_t>(bytes_, local + 26) + number_at<std::uint16_t>(bytes_, local + 28);
  if (start + size > bytes_.size()) return damaged(name + " goes beyond its end");
  const auto npy = bytes_.substr(start, size);
  if (crc<crc32_polynomial>(npy) != number_at<std::uint32_t>(bytes_, entry + 16))
    return damaged("the checksum of " + name + " is wrong");
  return npy;
}

result<named_array> npz_reader::array(std::string_view npy, std::string name) const {
  const auto unlike = [&](const std::string& why) { return damaged(name + ": " + why); };
  if (npy.size() < 12 || !npy.starts_with(npy_mark)) return unlike("it is no .npy file");
  const bool first = npy[6] == 1;
  const std::size_t start = first ? 10 : 12;
  const std::size_t length = first ? number_at<std::uint16_t>(npy, 8) : number_at<std::uint32_t>(npy, 8);
  if (start + length > npy.size()) return unlike("its header is cut");
  const auto header = npy.substr(start, length);
  const auto after = [&](std::string_view key) {
    const auto found = header.find(key);
    return found == std::string_view::npos ? std::string_view() : header.substr(found + key.size());
  };
  auto type = after("'descr': ");
  type = type.substr(0, type.find(','));
  const auto known = std::ranges::find_if(element_types(), [&](const element_type& element) {
    return !element.npy.empty() && type == "'" + std::string(element.npy) + "'";
  });
  if (known == element_types().end())
    return fail(error::kind::data, place_, "has " + name + " of the type " + std::string(type),
                "convert it to float32: array.astype(\"<f4\")");
  auto rest = after("'shape': (");
  std::vector<std::uint32_t> shape;
  while (!rest.empty() && rest.front() != ')') {
    std::uint32_t extent = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (code != std::errc()) return unlike("its shape is not understood");
    shape.push_back(extent);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    while (rest.starts_with(',') || rest.starts_with(' ')) rest.remove_prefix(1);
  }
  if (rest.empty()) return unlike("its shape is not understood");
  if (after("'fortran_order': ").starts_with("True") && shape.size() > 1)
    return fail(error::kind::data, place_, "has " + name + " in Fortran order", "write numpy.ascontiguousarray(array)");
  const auto values = npy.substr(start + length);
  if (values.size() != count_of(shape) * known->bytes) return unlike("its size is not that of its shape");
  return named_array{std::move(name), std::move(shape), std::string(values), &*known};
}

}  // namespace

result<std::string> npz_of(std::span<const array_view> arrays) {
  std::string file;
  std::string directory;
  for (const auto& view : arrays) {
    const auto name = view.name + ".npy";
    const auto content = npy_of(view);
    const auto fields = common_fields(name, content);
    if (arrays.size() >= UINT16_MAX || name.size() >= UINT16_MAX ||
        file.size() + directory.size() + content.size() > UINT32_MAX - (std::size_t{1} << 24U))
      return fail(error::kind::usage, "--model", "would be a zip archive above 4 GB, which is not written",
                  "end the name in .safetensors");
    put(directory, central_mark);
    put(directory, std::uint16_t{20});
    directory += fields;
    directory.append(10, '\0');  // no comment, first disk, no attributes
    put(directory, static_cast<std::uint32_t>(file.size()));
    directory += name;
    put(file, local_mark);
    file += fields;
    file += name;
    file += content;
  }
  const auto start = file.size();
  file += directory;
  put(file, end_mark);
  put(file, std::uint32_t{0});
  for (int i = 0; i < 2; ++i) put(file, static_cast<std::uint16_t>(arrays.size()));
  put(file, static_cast<std::uint32_t>(directory.size()));
  put(file, static_cast<std::uint32_t>(start));
  put(file, std::uint16_t{0});
  return file;
}

result<std::vector<named_array>> read_npz(std::string_view bytes, const std::string& place) {
  return npz_reader(bytes, place).read();
}

}  // namespace furlong::scenarios
