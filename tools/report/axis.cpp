#include "tools/report/detail/axis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace furlong::tools {

namespace {

// 1, 2 or 5 times a power of ten, so that `wanted` steps cover about `span`.
double nice_step(double span, int wanted) {
  const double rough = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double times = rough / power;
  return power * (times < 1.5 ? 1.0 : times < 3.5 ? 2.0 : times < 7.5 ? 5.0 : 10.0);
}

// What values are divided by, and what follows the figure.
struct scale {
  double by = 1.0;
  std::string unit;
};

scale scale_for(number_style style, double high) {
  if (style == number_style::percent) return {0.01, " %"};
  if (style == number_style::seconds) {
    const auto unit = time_unit_for(high);
    return {unit.size, std::string(" ") + unit.name};
  }
  if (style != number_style::bytes) return {};
  const auto unit = unit_for(high);
  return {unit.size, std::string(" ") + unit.name};
}

std::string label_of(double value, double step, number_style style, const std::string& unit) {
  if (value == 0.0) return "0" + unit;
  if (style == number_style::count) return written(value, style);
  const double size = std::max(std::abs(value), step);
  if (size >= 1e6 || size < 1e-4) return written(value, number_style::plain) + unit;
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 8);
  return fixed(value, digits) + unit;
}

// Of the points from the first `skipped` share of each curve's x range on.
range over(const std::vector<const series*>& curves, double skipped) {
  range found{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const auto* curve : curves) {
    if (curve->empty()) continue;
    const double first = curve->front().x;
    const double from = first + (curve->back().x - first) * skipped;
    for (const auto& p : *curve) {
      if (p.x < from) continue;
      found.low = std::min(found.low, p.y);
      found.high = std::max(found.high, p.y);
    }
  }
  return found.low <= found.high ? found : range{0.0, 1.0};
}

}  // namespace

axis make_axis(double low, double high, number_style style, int wanted, bool widen) {
  constexpr double nothing = 1e-280;  // steps of less would underflow
  if (!(high - low > std::max(std::abs(high) * 1e-9, nothing))) {
    const double around = style == number_style::count || std::abs(high) <= nothing ? 1.0 : std::abs(high) * 0.05;
    low -= low >= 0.0 ? std::min(low, around) : around;
    high += around;
  }
  const auto unit = scale_for(style, high);
  low /= unit.by;
  high /= unit.by;
  double step = nice_step(high - low, wanted);
  if (style == number_style::count) step = std::max(step, 1.0);
  if (widen) {
    low = std::floor(low / step + 1e-9) * step;
    high = std::ceil(high / step - 1e-9) * step;
  }
  axis made{low * unit.by, high * unit.by, {}};
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + step * 1e-9 && made.ticks.size() < 50; ++i) {
    const double value = i == 0.0 ? 0.0 : i * step;
    made.ticks.push_back(
        {std::clamp(value * unit.by, made.low, made.high), label_of(value, step, style, unit.unit), false});
  }
  return made;
}

range all_of(const std::vector<const series*>& curves) { return over(curves, 0.0); }

range settled_part(const std::vector<const series*>& curves) {
  const auto all = all_of(curves);
  const auto late = over(curves, 0.1);
  const double span = late.high - late.low;
  if (!(span > 0.0) || span * 3.0 > all.high - all.low) return all;
  return {std::max(all.low, late.low - span * 0.1), std::min(all.high, late.high + span * 0.1)};
}

}  // namespace furlong::tools
