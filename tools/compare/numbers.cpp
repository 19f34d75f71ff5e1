#include "tools/compare/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace furlong::tools {

namespace {

constexpr std::string_view dash = "\u2013";
constexpr std::string_view infinite = "\u221E";

std::string to_text(double value, std::chars_format format, int digits) {
  std::array<char, 400> buffer{};  // the largest double has 309 digits before its point
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, digits);
  return {buffer.data(), end.ptr};
}

// Four decimals for what is about 1, as metrics are; fewer for large figures, powers of ten at the ends.
std::string plain(double value) {
  const double size = std::abs(value);
  if (value == 0.0) return "0";
  if (size < 1e-3 || size >= 1e7) return to_text(value, std::chars_format::scientific, 2);
  if (size < 10) return fixed(value, 4);
  if (size < 1000) return fixed(value, size < 100 ? 2 : 1);
  std::string text(value < 0 ? "-" : "");
  return text += grouped(static_cast<std::uint64_t>(std::llround(size)));
}

// Counts are whole, but their means are not; two digits are enough of what is small.
std::string mean(double value) {
  const double size = std::abs(value);
  if (value == std::round(value) && size < 1e15)
    return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(size));
  if (size >= 1000) return plain(value);
  return fixed(value, size < 1 ? 2 : 1);
}

std::string bytes(double value) {
  constexpr std::array<const char*, 5> units{" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  for (; value >= 1e3 && unit + 1 < units.size(); ++unit) value /= 1e3;
  return fixed(value, unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + units.at(unit);
}

}  // namespace

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "").append(infinite);
  auto text = to_text(value, std::chars_format::fixed, digits);
  // No "-0.00".
  return text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-') ? text.substr(1) : text;
}

std::string written(std::optional<double> value, number_style style) {
  if (!value) return std::string(dash);
  if (!std::isfinite(*value)) return fixed(*value, 0);
  switch (style) {
    case number_style::accuracy: return fixed(*value * 100.0, 2) + " %";
    case number_style::percent: return fixed(*value * 100.0, 1) + " %";
    case number_style::count:
      return *value < 0 || *value > 1e18 ? plain(*value) : grouped(static_cast<std::uint64_t>(std::llround(*value)));
    case number_style::rate:
      return *value >= 1 && *value < 10 ? fixed(*value, 1)
                                        : written(value, *value < 1 ? number_style::plain : number_style::count);
    case number_style::mean: return mean(*value);
    case number_style::bytes: return bytes(*value);
    case number_style::seconds: return duration(*value);
    case number_style::plain: break;
  }
  return plain(*value);
}

spread_text written_spread(double mean, std::optional<double> sd, number_style style) {
  spread_text text{written(mean, style), {}, {}};
  if (text.mean.ends_with(" %")) {
    text.unit = " %";
    text.mean.resize(text.mean.size() - 2);
  }
  if (!sd) return text;
  const double scale = is_percentage(style) ? 100.0 : 1.0;
  const auto point = text.mean.find('.');
  const bool own_unit = style == number_style::seconds || style == number_style::bytes;
  const bool has_decimals = point != std::string::npos && text.mean.find('e') == std::string::npos;
  text.spread = own_unit || !has_decimals ? written(sd, style == number_style::count ? number_style::mean : style)
                                          : fixed(*sd * scale, static_cast<int>(text.mean.size() - point - 1));
  return text;
}

std::string grouped(std::uint64_t count) {
  auto text = std::to_string(count);
  for (std::size_t position = text.size(); position > 3; position -= 3) text.insert(position - 3, 1, ',');
  return text;
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return std::string(dash);
  if (seconds < 59.95) return fixed(seconds, seconds < 9.995 ? 2 : 1) + " s";
  if (seconds > 1e15) return written(seconds, number_style::plain) + " s";
  const auto two = [](long long part) { return std::string(part < 10 ? "0" : "").append(std::to_string(part)); };
  const auto whole = std::llround(seconds);
  if (whole < 3600) return std::to_string(whole / 60) + " min " + two(whole % 60) + " s";
  if (whole < 48 * 3600) return std::to_string(whole / 3600) + " h " + two(whole / 60 % 60) + " min";
  return grouped(static_cast<std::uint64_t>(whole / 86400)) + " d " + two(whole / 3600 % 24) + " h";
}

std::uint64_t sum_of(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& count) { return sum + count.second; });
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const auto& part : parts)
    if (!part.empty()) text.append(text.empty() ? "" : between).append(part);
  return text;
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace furlong::tools
