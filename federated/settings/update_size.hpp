// Sizes of updates and the limits derived from them (algorithm.aggregation.norm_bound).
//
// A size is a norm, the norm of the longest row or a weight, counted by level: four levels per octave. The server keeps
// the counts of recent versions; the limit of the next version is a number of levels above their quantiles. Counts are
// integers: the limit does not depend on the order of arrival. It is sent in the broadcast as a level, and an update is
// checked against the limit of its start version.
//
// The limits adapt to honest clients (Andrew et al. 2021, "Differentially private learning with adaptive clipping",
// estimate a quantile for the same purpose, by gradient steps). Whatever less than half of the updates are, the median
// stays one of honest updates, and no limit is farther above it than the constants in update_size.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace furlong::federated {

/// algorithm.aggregation.norm_bound. `adaptive`: limits are beyond all honest updates, larger ones are rejected.
/// `clip`: limits are close, and honest clients scale their updates to them. `fixed`: there are none.
enum class norm_bound_kind : std::uint8_t { adaptive, clip, fixed };

/// Levels are 1 to 255; 0: no size, or no limit.
using size_level = std::uint8_t;
constexpr std::size_t size_level_count = 256;

/// The level of a size, given by its square (not negative): the lowest whose upper bound is not smaller. Level l ends
/// at 2^((l - 127) / 4).
[[nodiscard]] size_level level_of_square(double squared);
/// The upper bound of a level.
[[nodiscard]] double top_of(size_level level);

/// The size of one update. Both 0: not measured, or weight 0.
struct update_size {
  size_level norm = 0;    ///< L2 norm of the whole update, all tensors together
  size_level row = 0;     ///< L2 norm of the longest row of a tensor with a row for each feature or client; 0: none
  size_level weight = 0;  ///< declared examples
  friend bool operator==(const update_size&, const update_size&) = default;
};

/// The highest accepted levels; 0: any.
struct update_limits {
  size_level norm = 0;
  size_level row = 0;
  size_level weight = 0;
  /// False: the versions before had too few updates.
  [[nodiscard]] bool known() const { return norm != 0; }
  friend bool operator==(const update_limits&, const update_limits&) = default;
};

/// Counts of updates by level.
class level_counts {
 public:
  void add(size_level level, std::uint32_t count = 1);
  /// Total over all levels.
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] bool any_above(size_level level) const;
  [[nodiscard]] std::span<const std::uint32_t> by_level() const { return counts_; }
  [[nodiscard]] std::span<std::uint32_t> by_level() { return counts_; }
  friend bool operator==(const level_counts&, const level_counts&) = default;

 private:
  std::array<std::uint32_t, size_level_count> counts_{};  ///< level 0: none
};

/// Sizes of several updates.
struct size_counts {
  level_counts norms;
  level_counts rows;
  level_counts weights;
  void add(const update_size& size);
  friend bool operator==(const size_counts&, const size_counts&) = default;
};

/// Sizes of earlier versions' updates.
class size_history {
 public:
  size_history() = default;
  explicit size_history(const size_counts& saved) : recent_(saved) {}

  /// Adds the counts of a closed version. Older counts decay so that the quantile is over about the last `memory`
  /// updates, or over those of the last version if there are more.
  void close(const size_counts& version);
  /// Limits of the next version. None while fewer than five updates are known, and with `fixed`.
  /// @param rounded clipped updates are rounded to fewer bits, which can lengthen them: limits are a level higher
  [[nodiscard]] update_limits limits(norm_bound_kind bound, bool rounded = false) const;
  /// The counts to save.
  [[nodiscard]] const size_counts& recent() const { return recent_; }

  friend bool operator==(const size_history&, const size_history&) = default;

 private:
  size_counts recent_;
};

/// Why a version whose sum has updates that were accepted without a limit must not be used.
enum class size_fault : std::uint8_t {
  none,
  unknown,  ///< no other update is known, so nobody can tell how large one may be
  outlier,  ///< one of them exceeds the limit that all known updates define
};
/// With norm_bound = "adaptive".
/// @param version of all updates of the closed version
/// @param unlimited of those in its sum that were accepted without a limit
[[nodiscard]] size_fault fault_of(const size_history& before, const size_counts& version, const size_counts& unlimited);

}  // namespace furlong::federated
