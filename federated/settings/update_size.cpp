#include "federated/settings/update_size.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/exact_math.hpp"

namespace furlong::federated {

namespace {

constexpr int origin = 127;  // its upper bound is 1
constexpr int lowest = 1;
constexpr int highest = 255;
constexpr std::uint64_t fewest = 5;      // to set a limit
constexpr std::uint64_t fewest_all = 2;  // to compare updates without one with each other
constexpr std::uint64_t memory = 256;
/// With norm_bound = "adaptive" a limit is this many levels above the median, or above the 90th percentile if that is
/// higher: sizes may have a long tail. Chosen so that no honest update of the scenario files exceeds it
/// (docs/algorithms.md, "Limits of an update"). In small cohorts a few bad updates are above the 90th percentile, so it
/// raises the limit to at most `most` levels above the median.
struct headroom {
  int median;
  int ninetieth;
  int most;
};
constexpr headroom of_norms{16, 13, 22};  // 2^(16/4) = 16 times, 10 times; 45 times
constexpr headroom of_rows{20, 16, 26};   // 32 times, 16 times: a client with one example puts all of it into one row
constexpr headroom of_weights = of_rows;
/// With norm_bound = "clip": levels above the median. Chosen on honest runs, which lose at most a hundredth, and then
/// attacked (docs/algorithms.md). Rows are tighter, since few other clients may name a row. Not 0: clipped to the
/// median, updates could never grow.
constexpr int clipped_norm = 6;  // 2.8 times
constexpr int clipped_row = 1;   // 1.2 times

size_level clamp_level(int level) { return static_cast<size_level>(std::clamp(level, lowest, highest)); }

/// The lowest level that `percent` of the updates, rounded down, do not exceed: of ten updates or fewer, one outlier is
/// above the 90th percentile.
int quantile(const level_counts& counts, std::uint64_t percent) {
  const auto wanted = std::max<std::uint64_t>(counts.total() * percent / 100, 1);
  std::uint64_t below = 0;
  int level = 0;
  for (const auto count : counts.by_level()) {
    below += count;
    if (below >= wanted) break;
    ++level;
  }
  return level;
}

size_level limit_of(const level_counts& counts, const headroom& above, std::uint64_t least) {
  if (counts.total() < least) return 0;
  const int median = quantile(counts, 50);
  if (counts.total() < fewest) return clamp_level(median + above.most);  // of so few, an honest one may be small
  return clamp_level(std::clamp(quantile(counts, 90) + above.ninetieth, median + above.median, median + above.most));
}

size_level clip_limit_of(const level_counts& counts, int above) {
  return counts.total() < fewest ? size_level{0} : clamp_level(quantile(counts, 50) + above);
}

update_limits adaptive_limits(const size_counts& counts, std::uint64_t least) {
  return {limit_of(counts.norms, of_norms, least), limit_of(counts.rows, of_rows, least),
          limit_of(counts.weights, of_weights, least)};
}

/// Adds the counts of a version; older counts shrink in proportion so that `memory` remain in total.
void remember(level_counts& recent, const level_counts& version) {
  const auto more = version.total();
  const auto before = recent.total();
  const auto room = more < memory ? memory - more : 0;
  if (before > room)
    for (auto& count : recent.by_level()) count = static_cast<std::uint32_t>(count * room / before);
  for (std::size_t level = 0; level < size_level_count; ++level) recent.by_level()[level] += version.by_level()[level];
}

}  // namespace

size_level level_of_square(double squared) {
  if (!(squared > 0.0)) return lowest;
  // size^2 = m 2^e with m in [1/2, 1): size <= 2^(k/4) is the same as m 2^e <= 2^(k/2).
  constexpr double root_of_half = 0.70710678118654752;
  int e = 0;
  const double m = std::frexp(squared, &e);
  const int k = 2 * e - (m <= 0.5 ? 2 : m <= root_of_half ? 1 : 0);
  return clamp_level(k + origin);
}

double top_of(size_level level) { return exact::exp2((static_cast<int>(level) - origin) / 4.0); }

void level_counts::add(size_level level, std::uint32_t count) {
  if (level != 0) counts_[level] += count;
}

std::uint64_t level_counts::total() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

bool level_counts::any_above(size_level level) const {
  return std::any_of(counts_.begin() + level + 1, counts_.end(), [](auto count) { return count > 0; });
}

void size_counts::add(const update_size& size) {
  norms.add(size.norm);
  rows.add(size.row);
  weights.add(size.weight);
}

void size_history::close(const size_counts& version) {
  remember(recent_.norms, version.norms);
  remember(recent_.rows, version.rows);
  remember(recent_.weights, version.weights);
}

update_limits size_history::limits(norm_bound_kind bound, bool rounded) const {
  if (bound == norm_bound_kind::fixed) return {};
  auto made = adaptive_limits(recent_, fewest);
  if (bound == norm_bound_kind::clip) {
    const int more = rounded ? 1 : 0;
    made.norm = clip_limit_of(recent_.norms, clipped_norm + more);
    made.row = clip_limit_of(recent_.rows, clipped_row + more);
  }
  return made;
}

size_fault fault_of(const size_history& before, const size_counts& version, const size_counts& unlimited) {
  if (unlimited.norms.total() == 0) return size_fault::none;
  auto after = before;
  after.close(version);
  const auto limits = adaptive_limits(after.recent(), fewest_all);
  if (!limits.known()) return size_fault::unknown;
  const auto exceed = [](const level_counts& counts, size_level limit) {
    return limit != 0 && counts.any_above(limit);
  };
  const bool any = exceed(unlimited.norms, limits.norm) || exceed(unlimited.rows, limits.row) ||
                   exceed(unlimited.weights, limits.weight);
  return any ? size_fault::outlier : size_fault::none;
}

}  // namespace furlong::federated
