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

error wrong(const grid_option& option, std::string why, std::string fix) {
  const auto shown = option.drawn ? option.text.substr(0, option.text.find('=')) : option.text;
  return {error::kind::usage, option.name() + " " + shown, std::move(why), std::move(fix)};
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

grid_axis parse_axis(const grid_option& option, std::vector<error>& problems) {
  const auto setting = scenarios::parse_override(option.text);
  if (!setting) {
    problems.push_back(
        wrong(option, "is not KEY=VALUE,VALUE,...", "write --grid algorithm.client.lr=0.1,0.3, for example"));
    return {};
  }
  grid_axis axis{
      setting->key, std::string(scenarios::leaf_of(setting->key)), {}, option.tied, option.name() + " " + setting->key};
  const auto parts = split_values(setting->value);
  if (!parts) {
    problems.push_back(wrong(option, "a bracket, a brace or a quote is not balanced", "close it"));
    return axis;
  }
  for (const auto& part : *parts) {
    if (part.empty()) problems.push_back(wrong(option, "a value is empty", "leave out the comma, or write \"\""));
    axis.values.push_back({part, shown(axis.key, part)});
  }
  return axis;
}

/// Problems of the key and of the number of values, against the axes before it.
void check_axis(const grid_option& option, const std::vector<grid_axis>& before, const grid_axis& axis,
                std::vector<error>& problems) {
  if (axis.key.empty()) return;
  if (std::ranges::find(before, axis.key, &grid_axis::key) != before.end())
    problems.push_back(wrong(option, "the key is in the grid already", "name all its values in one --grid"));
  if (!axis.tied) return;
  const auto lead = std::find_if(before.rbegin(), before.rend(), [](const auto& candidate) { return !candidate.tied; });
  if (lead == before.rend())
    return problems.push_back(wrong(option, "no --grid is before it, whose values its own would go with",
                                    "write it after the --grid, or write --grid for it too"));
  if (!axis.values.empty() && !lead->values.empty() && axis.values.size() != lead->values.size())
    problems.push_back(wrong(option,
                             "has " + std::to_string(axis.values.size()) + " values, and --grid " + lead->key +
                                 " has " + std::to_string(lead->values.size()),
                             "write one value for each of the other's"));
}

/// Combinations of tied values that come twice. `options` are those of the axes.
void check_repeats(const std::vector<grid_option>& options, const std::vector<grid_axis>& axes,
                   std::vector<error>& problems) {
  for (std::size_t lead = 0; lead < axes.size(); ++lead) {
    if (axes[lead].tied) continue;
    std::set<std::vector<std::string>> seen;
    for (std::size_t v = 0; v < axes[lead].values.size(); ++v) {
      std::vector<std::string> together = {axes[lead].values[v].shown};
      for (auto next = lead + 1; next < axes.size() && axes[next].tied; ++next)
        if (v < axes[next].values.size()) together.push_back(axes[next].values[v].shown);
      if (seen.insert(together).second) continue;
      const auto with = together.size() > 1 ? " with the same values of --with" : "";
      problems.push_back(wrong(options[lead], together.front() + " is repeated" + with, "name each value once"));
    }
  }
}

/// Moves on to the next combination; false: that was the last one.
bool advance(const std::vector<grid_axis>& axes, std::vector<std::size_t>& indices) {
  for (auto axis = axes.size(); axis-- > 0;) {
    if (axes[axis].tied) continue;
    indices[axis] = (indices[axis] + 1) % axes[axis].values.size();
    for (auto next = axis + 1; next < axes.size() && axes[next].tied; ++next) indices[next] = indices[axis];
    if (indices[axis] != 0) return true;
  }
  return false;
}

}  // namespace

tl::expected<std::vector<grid_axis>, std::vector<error>> parse_grid(const std::vector<grid_option>& options) {
  std::vector<grid_axis> axes;
  std::vector<error> problems;
  for (const auto& option : options) {
    auto axis = parse_axis(option, problems);
    check_axis(option, axes, axis, problems);
    for (auto& earlier : axes)
      if (scenarios::leaf_of(earlier.key) == scenarios::leaf_of(axis.key)) {
        earlier.name = earlier.key;
        axis.name = axis.key;
      }
    axes.push_back(std::move(axis));
  }
  check_repeats(options, axes, problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return axes;
}

std::uint64_t count_points(const std::vector<grid_axis>& axes, std::size_t seeds) {
  std::uint64_t count = seeds;
  for (const auto& axis : axes)
    if (!axis.tied && __builtin_mul_overflow(count, std::uint64_t{axis.values.size()}, &count)) return UINT64_MAX;
  return count;
}

std::vector<grid_point> grid_points(const std::vector<grid_axis>& axes, const std::vector<std::uint64_t>& seeds) {
  std::vector<grid_point> points;
  std::vector<std::size_t> indices(axes.size(), 0);
  do {
    for (const auto seed : seeds) points.push_back({indices, seed});
  } while (advance(axes, indices));
  return points;
}

std::vector<scenarios::setting_override> overrides_of(const std::vector<grid_axis>& axes, const grid_point& point) {
  std::vector<scenarios::setting_override> overrides;
  for (std::size_t i = 0; i < axes.size(); ++i)
    overrides.push_back({axes[i].key, axes[i].values[point.indices[i]].written, axes[i].option});
  return overrides;
}

std::string label_of(const std::vector<grid_axis>& axes, const grid_point& point) {
  std::string label;
  for (std::size_t i = 0; i < axes.size(); ++i)
    label += (i > 0 ? ", " : "") + axes[i].name + "=" + axes[i].values[point.indices[i]].shown;
  return label;
}

std::string folder_of(const std::string& scenario, const std::vector<grid_axis>& axes, const grid_point& point) {
  constexpr std::size_t longest = 200;
  std::string whole = scenario;
  for (std::size_t i = 0; i < axes.size(); ++i)
    whole += "-" + axes[i].name + "=" + axes[i].values[point.indices[i]].shown;
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
