#include "tools/sweep/value_range.hpp"

#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <set>

#include "base/exact_math.hpp"
#include "base/parse_number.hpp"
#include "base/random.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

namespace {

error wrong_range(const std::string& text, std::string why, std::string fix) {
  return {error::kind::usage, "--range " + text, std::move(why), std::move(fix)};
}

std::optional<double> number_in(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

bool is_whole(std::string_view text) { return text.find_first_not_of("-0123456789") == std::string_view::npos; }

tl::expected<value_range, error> parse_range(const std::string& text) {
  constexpr std::string_view logarithm = "log:";
  const auto malformed = [&] {
    return tl::unexpected(wrong_range(text, "is not KEY=LOW..HIGH or KEY=log:LOW..HIGH",
                                      "write --range algorithm.client.lr=log:1e-3..1, for example"));
  };
  const auto setting = scenarios::parse_override(text);
  if (!setting) return malformed();
  value_range made;
  made.key = setting->key;
  std::string_view ends = setting->value;
  made.logarithmic = ends.starts_with(logarithm);
  if (made.logarithmic) ends.remove_prefix(logarithm.size());
  const auto dots = ends.find("..");
  if (dots == std::string_view::npos) return malformed();
  const auto low = ends.substr(0, dots);
  const auto high = ends.substr(dots + 2);
  const auto lower = number_in(low);
  const auto upper = number_in(high);
  if (!lower || !upper) return malformed();
  made.low = *lower;
  made.high = *upper;
  made.whole = is_whole(low) && is_whole(high);
  if (!(made.low < made.high)) return tl::unexpected(wrong_range(text, "is empty", "write the smaller value first"));
  if (made.logarithmic && !(made.low > 0.0))
    return tl::unexpected(wrong_range(text, "has no logarithm at its lower end", "begin above 0, or omit log:"));
  return made;
}

/// A number in [0, 1).
double uniform(random_stream& stream) { return static_cast<double>(stream()) / 4294967296.0; }

std::vector<std::size_t> shuffled(std::size_t count, random_stream& stream) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (auto i = count; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(uniform(stream) * static_cast<double>(i))]);
  return order;
}

/// The value at a place in [0, 1) of the range.
std::string value_at(const value_range& range, double place) {
  const double end = range.whole ? range.high + 1.0 : range.high;  // whole numbers are rounded down
  const double value =
      range.logarithmic ? range.low * exact::pow(end / range.low, place) : range.low + place * (end - range.low);
  return range.whole ? fmt::format("{:.0f}", std::floor(value)) : fmt::format("{:.4g}", value);
}

}  // namespace

tl::expected<std::vector<value_range>, std::vector<error>> parse_ranges(const std::vector<std::string>& texts) {
  std::vector<value_range> ranges;
  std::vector<error> problems;
  for (const auto& text : texts)
    if (auto range = parse_range(text))
      ranges.push_back(std::move(*range));
    else
      problems.push_back(std::move(range.error()));
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return ranges;
}

std::vector<grid_option> draw_settings(const std::vector<value_range>& ranges, std::size_t count, std::uint64_t seed) {
  std::vector<std::vector<std::string>> settings(count);
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    random_stream stream(seed, purpose::tuned_settings, static_cast<std::uint32_t>(r));
    const auto parts = shuffled(count, stream);
    for (std::size_t i = 0; i < count; ++i)
      settings[i].push_back(
          value_at(ranges[r], (static_cast<double>(parts[i]) + uniform(stream)) / static_cast<double>(count)));
  }
  std::vector<grid_option> options;
  for (std::size_t r = 0; r < ranges.size(); ++r) options.push_back({ranges[r].key + "=", r > 0, true});
  std::set<std::vector<std::string>> drawn;
  for (const auto& setting : settings) {
    if (!drawn.insert(setting).second) continue;
    for (std::size_t r = 0; r < ranges.size(); ++r)
      options[r].text += (options[r].text.ends_with('=') ? "" : ",") + setting[r];
  }
  return options;
}

}  // namespace furlong::tools
