// Ranges of values from which `furlong tune` draws settings.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/result.hpp"
#include "tools/sweep/grid.hpp"

namespace furlong::tools {

/// `--range key=LOW..HIGH`; `key=log:LOW..HIGH` is uniform in the logarithm.
struct value_range {
  std::string key;
  double low = 0.0;
  double high = 0.0;
  bool logarithmic = false;
  bool whole = false;  ///< both ends are written as whole numbers: so are the values
};

/// Reads the ranges. Returns them or all their problems, each of kind usage.
[[nodiscard]] tl::expected<std::vector<value_range>, std::vector<error>> parse_ranges(
    const std::vector<std::string>& texts);

/// Draws `count` settings: of each range `count` equal parts have one value each, and the parts are combined at random
/// (Latin hypercube sampling; McKay, Beckman and Conover, Technometrics 1979). Values have four digits. The first key
/// is a --grid, the others go with it; settings that come out the same are left out. Empty without ranges.
[[nodiscard]] std::vector<grid_option> draw_settings(const std::vector<value_range>& ranges, std::size_t count,
                                                     std::uint64_t seed);

}  // namespace furlong::tools
