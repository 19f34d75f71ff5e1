// The grid of a sweep: every combination of values of some scenario keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

/// A value as written and as shown: texts without quotes, numbers in their shortest form.
struct grid_value {
  std::string written;
  std::string shown;
};

/// `--grid key=v1,v2`, or `--with key=w1,w2`, whose values change together with those of the --grid before it.
struct grid_option {
  std::string text;
  bool tied = false;   ///< --with
  bool drawn = false;  ///< values drawn from a --range

  /// "--grid", "--with" or "--range".
  [[nodiscard]] std::string name() const { return drawn ? "--range" : tied ? "--with" : "--grid"; }
};

/// What to run in a sweep or a tuning.
struct sweep_request {
  std::vector<std::filesystem::path> scenarios;
  std::vector<grid_option> grid;
  std::vector<std::uint64_t> seeds;  ///< of all runs; empty: the seed of each scenario
  std::vector<scenarios::setting_override> overrides;
  bool smoke = false;
};

/// One key of the grid.
struct grid_axis {
  std::string key;
  std::string name;  ///< the key's last part; the whole key if this is ambiguous
  std::vector<grid_value> values;
  bool tied = false;        ///< follows the closest axis before it that is not tied, and has as many values
  std::string option = {};  ///< the option that it is from, with the key: "--grid KEY"
};

/// Reads the axes. Values are TOML or bare words; commas inside brackets, braces and quotes do not separate. Returns
/// the axes or all their problems, each of kind usage.
[[nodiscard]] tl::expected<std::vector<grid_axis>, std::vector<error>> parse_grid(
    const std::vector<grid_option>& options);

/// One run of the sweep.
struct grid_point {
  std::vector<std::size_t> indices;  ///< index into the values of each axis; of a tied one that of the axis it follows
  std::uint64_t seed = 1;
};

/// Every combination with every seed: seeds vary fastest, then the last axis that is not tied.
[[nodiscard]] std::vector<grid_point> grid_points(const std::vector<grid_axis>& axes,
                                                  const std::vector<std::uint64_t>& seeds);
/// The number of points, saturating at the maximum.
[[nodiscard]] std::uint64_t count_points(const std::vector<grid_axis>& axes, std::size_t seeds);

/// The overrides of the point in the scenario.
[[nodiscard]] std::vector<scenarios::setting_override> overrides_of(const std::vector<grid_axis>& axes,
                                                                    const grid_point& point);
/// "lr=0.1, kind=furl"; empty without axes.
[[nodiscard]] std::string label_of(const std::vector<grid_axis>& axes, const grid_point& point);
/// The name of the point's folder: "NAME-lr=0.1-kind=furl-seed=1". Made of letters, digits and _ . = + -, at most 200
/// characters; if that loses information, a digest of the whole is appended.
[[nodiscard]] std::string folder_of(const std::string& scenario, const std::vector<grid_axis>& axes,
                                    const grid_point& point);

}  // namespace furlong::tools
