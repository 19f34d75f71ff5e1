#include "tools/sweep/grid.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/digest.hpp"
#include "scenarios/schema/schema.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::tools {

namespace {

error wrong(const std::string& text, std::string why, std::string fix) {
  return {error::kind::usage, "--grid " + text, std::move(why), std::move(fix)};
}

std::string trimmed(const std::string& part) {
  const auto begin = part.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string{} : part.substr(begin, part.find_last_not_of(" \t") - begin + 1);
}

/// The closing character of an opening one; 0: not an opening character.
char closing(char open) {
  switch (open) {
    case '[': return ']';
    case '{': return '}';
    case '"':
    case '\'': return open;
    default: return 0;
  }
}

/// Splits at commas outside of brackets, braces and quotes. Nothing if one of these is not closed.
std::optional<std::vector<std::string>> split_values(const std::string& text) {
  std::vector<std::string> parts(1);
  std::string waiting;
  bool escaped = false;
  for (const char c : text) {
    const bool quoted = !waiting.empty() && (waiting.back() == '"' || waiting.back() == '\'');
    if (c == ',' && waiting.empty()) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
    if (escaped) {
      escaped = false;
    } else if (quoted && c == '\\' && waiting.back() == '"') {
      escaped = true;
    } else if (!waiting.empty() && c == waiting.back()) {
      waiting.pop_back();
    } else if (!quoted && closing(c) != 0) {
      waiting += closing(c);
    } else if (!quoted && (c == ']' || c == '}')) {
      return std::nullopt;
    }
  }
  if (!waiting.empty()) return std::nullopt;
  for (auto& part : parts) part = trimmed(part);
  return parts;
}

/// The value as the scenario will read it.
std::string shown(const std::string& key, const std::string& written) {
  const auto read = scenarios::parse_setting(key, written);
  if (!read.tables.empty() || read.values.size() != 1) return written;
  const auto& value = read.values.front().value;
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  return std::holds_alternative<std::monostate>(value.data) ? written : scenarios::to_text(value);
}

grid_axis parse_axis(const std::string& text, std::vector<error>& problems) {
  const auto setting = scenarios::parse_override(text);
  if (!setting) {
    problems.push_back(
        wrong(text, "is not KEY=VALUE,VALUE,...", "write --grid algorithm.client.lr=0.1,0.3, for example"));
    return {};
  }
  grid_axis axis{setting->key, std::string(scenarios::leaf_of(setting->key)), {}};
  const auto parts = split_values(setting->value);
  if (!parts) {
    problems.push_back(wrong(text, "a bracket, a brace or a quote is not balanced", "close it"));
    return axis;
  }
  std::set<std::string> seen;
  for (const auto& part : *parts) {
    if (part.empty()) problems.push_back(wrong(text, "a value is empty", "leave out the comma, or write \"\""));
    grid_value value{part, shown(axis.key, part)};
    if (!seen.insert(value.shown).second)
      problems.push_back(wrong(text, value.shown + " is repeated", "name each value once"));
    axis.values.push_back(std::move(value));
  }
  return axis;
}

}  // namespace

tl::expected<std::vector<grid_axis>, std::vector<error>> parse_grid(const std::vector<std::string>& texts) {
  std::vector<grid_axis> axes;
  std::vector<error> problems;
  for (const auto& text : texts) {
    auto axis = parse_axis(text, problems);
    for (auto& other : axes) {
      if (!axis.key.empty() && other.key == axis.key)
        problems.push_back(wrong(text, "the key is in the grid already", "name all its values in one --grid"));
      if (scenarios::leaf_of(other.key) == scenarios::leaf_of(axis.key)) {
        other.name = other.key;
        axis.name = axis.key;
      }
    }
    axes.push_back(std::move(axis));
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return axes;
}

std::uint64_t count_points(const std::vector<grid_axis>& axes, std::size_t seeds) {
  std::uint64_t count = seeds;
  for (const auto& axis : axes)
    if (__builtin_mul_overflow(count, std::uint64_t{axis.values.size()}, &count)) return UINT64_MAX;
  return count;
}

std::vector<grid_point> grid_points(const std::vector<grid_axis>& axes, const std::vector<std::uint64_t>& seeds) {
  std::vector<grid_point> points;
  std::vector<std::size_t> at(axes.size(), 0);
  for (;;) {
    for (const auto seed : seeds) points.push_back({at, seed});
    auto axis = axes.size();
    while (axis > 0 && ++at[axis - 1] == axes[axis - 1].values.size()) at[--axis] = 0;
    if (axis == 0) return points;
  }
}

std::vector<scenarios::setting_override> overrides_of(const std::vector<grid_axis>& axes, const grid_point& point) {
  std::vector<scenarios::setting_override> overrides;
  for (std::size_t i = 0; i < axes.size(); ++i) overrides.push_back({axes[i].key, axes[i].values[point.at[i]].written});
  return overrides;
}

std::string label_of(const std::vector<grid_axis>& axes, const grid_point& point) {
  std::string label;
  for (std::size_t i = 0; i < axes.size(); ++i)
    label += (i > 0 ? ", " : "") + axes[i].name + "=" + axes[i].values[point.at[i]].shown;
  return label;
}

std::string folder_of(const std::string& scenario, const std::vector<grid_axis>& axes, const grid_point& point) {
  constexpr std::size_t longest = 200;
  std::string whole = scenario;
  for (std::size_t i = 0; i < axes.size(); ++i) whole += "-" + axes[i].name + "=" + axes[i].values[point.at[i]].shown;
  whole += "-seed=" + std::to_string(point.seed);
  auto name = whole;
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string_view("_.=+-").find(c) == std::string_view::npos)
      c = '_';
  if (name == whole && name.size() <= longest) return name;
  const auto digest = hex(sha256_stream().add(whole).finish()).substr(0, 8);
  return name.substr(0, longest) + "-" + digest;
}

}  // namespace furlong::tools
