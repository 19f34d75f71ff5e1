#include "tools/expectations/figures.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "federated/update.hpp"

namespace furlong::tools {

namespace {

using nlohmann::ordered_json;

template <class Name>
bool names_one(std::string_view word, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (federated::to_string(static_cast<Name>(i)) == word) return true;
  return false;
}

/// A counter by name, which is only written when it is not zero.
bool is_counter(std::string_view key) {
  if (key.starts_with("wasted.")) key.remove_prefix(7);
  if (key.starts_with("rejected.")) return names_one<federated::rejection>(key.substr(9), federated::rejection_count);
  if (key.starts_with("dropped.")) return names_one<federated::drop_stage>(key.substr(8), federated::drop_stage_count);
  return false;
}

const ordered_json* member(const ordered_json& of, std::string_view name) {
  if (of.is_array()) {
    std::size_t index = 0;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool whole = end.ec == std::errc{} && end.ptr == name.data() + name.size();
    return whole && index < of.size() ? &of[index] : nullptr;
  }
  if (!of.is_object()) return nullptr;
  const auto at = of.find(std::string(name));
  return at == of.end() ? nullptr : &*at;
}

/// What can be named in place of a key that is not there.
std::string alternatives(const ordered_json& of, const std::string& path) {
  if (of.is_array()) return fmt::format("{} has {} items, from 0", path, of.size());
  if (!of.is_object()) return path + " has no parts";
  std::string names;
  for (const auto& item : of.items()) names += (names.empty() ? "" : ", ") + item.key();
  return fmt::format("{} has {}", path.empty() ? "it" : path, names.empty() ? "nothing" : names);
}

}  // namespace

result<ordered_json> figure_of(const ordered_json& summary, std::string_view key) {
  const ordered_json* at = &summary;
  std::string path;
  for (auto rest = key; !rest.empty();) {
    const auto name = rest.substr(0, rest.find('.'));
    const auto* inner = member(*at, name);
    if (inner == nullptr) {
      if (is_counter(key)) return ordered_json(0);
      return fail(error::kind::usage, std::string(key), "is not in summary.json: " + alternatives(*at, path),
                  "name a figure that this run has");
    }
    at = inner;
    path += (path.empty() ? "" : ".") + std::string(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return *at;
}

std::string figure_text(const ordered_json& value, bool exactly) {
  if (value.is_number_float())
    return exactly ? fmt::format("{}", value.get<double>()) : fmt::format("{:.6g}", value.get<double>());
  if (value.is_null()) return "not finite";
  return value.dump();
}

}  // namespace furlong::tools
