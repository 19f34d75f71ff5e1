// .safetensors: u64 length of a header, the header as JSON ({"name": {"dtype", "shape", "data_offsets"}}), the data.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/parameters/array_file.hpp"

namespace furlong::scenarios {

using json = nlohmann::ordered_json;

namespace {

/// Takes a range of bytes. Returns the name of a range that it overlaps; empty: of none.
std::string overlap(std::map<std::uint64_t, std::pair<std::uint64_t, std::string>>& taken,
                    const std::array<std::uint64_t, 2>& ends, const std::string& name) {
  if (ends[0] == ends[1]) return {};
  const auto next = taken.lower_bound(ends[0]);
  if (next != taken.end() && next->first < ends[1]) return next->second.second;
  if (next != taken.begin() && std::prev(next)->second.first > ends[0]) return std::prev(next)->second.second;
  taken.emplace(ends[0], std::pair(ends[1], name));
  return {};
}

}  // namespace

std::string safetensors_of(std::span<const array_view> arrays) {
  json header = json::object();
  std::uint64_t position = 0;
  for (const auto& view : arrays) {
    const auto end = position + view.bytes.size();
    header[view.name] = {{"dtype", view.type->safetensors}, {"shape", view.shape}, {"data_offsets", {position, end}}};
    position = end;
  }
  auto text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data are aligned
  std::string file;
  file.reserve(8 + text.size() + position);
  put<std::uint64_t>(file, text.size());
  file += text;
  for (const auto& view : arrays) file += view.bytes;
  return file;
}

result<std::vector<named_array>> read_safetensors(std::string_view bytes, const std::string& place) {
  const auto damaged = [&](const std::string& why) {
    return fail(error::kind::data, place, "is no whole safetensors file: " + why,
                "write it again, with furlong export or safetensors.torch.save_file");
  };
  if (bytes.size() < 8) return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  const auto length = number_at<std::uint64_t>(bytes, 0);
  if (length > bytes.size() - 8) return damaged("its header is longer than the file");
  const auto data = bytes.substr(8 + length);
  const auto header = json::parse(bytes.substr(8, length), nullptr, false);
  if (!header.is_object()) return damaged("its header is not JSON");
  std::vector<named_array> arrays;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> taken;  // begin: end, name
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      const auto type = entry.at("dtype").get<std::string>();
      const auto known = std::ranges::find(element_types(), type, &element_type::safetensors);
      if (known == element_types().end())
        return fail(error::kind::data, place, "has " + name + " of the type " + type, "convert it to float32 (F32)");
      auto shape = entry.at("shape").get<std::vector<std::uint32_t>>();
      const auto ends = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
      if (ends[1] < ends[0] || ends[1] > data.size() || (ends[1] - ends[0]) != count_of(shape) * known->bytes)
        return damaged("the place of " + name + " does not fit its shape or the file");
      if (const auto neighbour = overlap(taken, ends, name); !neighbour.empty())
        return damaged("the places of " + neighbour + " and " + name + " overlap");
      arrays.push_back({name, std::move(shape), std::string(data.substr(ends[0], ends[1] - ends[0])), &*known});
    } catch (const json::exception&) {
      return damaged("the description of " + name + " is not understood");
    }
  }
  return arrays;
}

}  // namespace furlong::scenarios
