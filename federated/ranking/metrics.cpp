#include "federated/ranking/metrics.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/exact_math.hpp"

namespace furlong::federated::ranking {

namespace {

/// The larger, the better: by score, then by the smaller number.
std::uint64_t order_key(float score, std::uint32_t item) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // of 0 for -0, which is equal
  const std::uint32_t ascending = bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFU : 0x80000000U);
  return std::uint64_t{ascending} << 32 | ~item;
}
std::uint32_t item_of(std::uint64_t key) { return ~static_cast<std::uint32_t>(key); }

/// Places whose gain is computed once: no evaluation asks for more (evaluation.top).
constexpr std::uint32_t usual_places = 1000;

double compute_gain(std::uint32_t place) { return exact::log(2.0) / exact::log(static_cast<double>(place) + 1.0); }

/// The gain of a place, the first is 1: 1 / log2(place + 1).
double gain_of(std::uint32_t place) {
  static const std::vector<double> usual = [] {
    std::vector<double> gains;
    for (std::uint32_t first = 1; first <= usual_places; ++first) gains.push_back(compute_gain(first));
    return gains;
  }();
  return place <= usual_places ? usual[place - 1] : compute_gain(place);
}

/// The sum of the gains of places first to last.
double gains(std::uint32_t first, std::uint32_t last) {
  double sum = 0.0;
  for (auto place = first; place <= last; ++place) sum += gain_of(place);
  return sum;
}

/// The items with one score have the places first + 1 to first + size.
struct placed_level {
  std::uint32_t first = 0;
  std::uint32_t size = 0;
  std::uint32_t held_out = 0;
  std::uint32_t found = 0;  ///< held-out items of the levels before
};

template <class Visit>
void each_level(std::span<const tied_items> levels, const Visit& visit) {
  placed_level next;
  for (const auto& level : levels) {
    next.first += level.above;
    next.size = level.tied + level.held_out;
    next.held_out = level.held_out;
    visit(next);
    next.first += next.size;
    next.found += level.held_out;
  }
}

/// How likely no held-out item of a level is among its first `places`.
double chance_of_none(const placed_level& level, std::uint32_t places) {
  double none = 1.0;
  for (std::uint32_t i = 0; i < places && none > 0.0; ++i)
    none *= level.size - i <= level.held_out
                ? 0.0
                : static_cast<double>(level.size - level.held_out - i) / static_cast<double>(level.size - i);
  return none;
}

/// The expected sum of the precisions at the held-out items of a level, of its first `places`.
double precisions(const placed_level& level, std::uint32_t places) {
  const double share = static_cast<double>(level.held_out) / level.size;
  const double another = level.size > 1 ? (level.held_out - 1.0) / (level.size - 1.0) : 0.0;
  double sum = 0.0;
  for (std::uint32_t i = 0; i < places; ++i) sum += share * (level.found + 1.0 + i * another) / (level.first + i + 1.0);
  return sum;
}

}  // namespace

void find_levels(std::span<float> held_out, std::span<const float> candidates, std::vector<tied_items>& levels) {
  std::ranges::sort(held_out, std::greater<>());
  levels.clear();
  std::size_t distinct = 0;  // scores, which are moved to the front
  for (const float score : held_out) {
    if (distinct == 0 || held_out[distinct - 1] != score) {
      held_out[distinct++] = score;
      levels.emplace_back();
    }
    ++levels.back().held_out;
  }
  if (distinct == 1) {  // the usual case, which compilers vectorize
    const float score = held_out[0];
    std::uint32_t above = 0;
    std::uint32_t same = 0;
    for (const float candidate : candidates) {
      above += candidate > score ? 1 : 0;
      same += candidate == score ? 1 : 0;
    }
    levels[0].above = above;
    levels[0].tied = same;
    return;
  }
  const auto scores = held_out.first(distinct);
  for (const float candidate : candidates) {
    const auto level = std::ranges::lower_bound(scores, candidate, std::greater<>());
    if (level == scores.end()) continue;
    auto& counts = levels[static_cast<std::size_t>(level - scores.begin())];
    ++(*level == candidate ? counts.tied : counts.above);
  }
}

double chance_of_place(std::uint32_t higher, std::uint32_t same, std::uint32_t places) {
  if (places <= higher) return 0.0;
  return std::min(1.0, static_cast<double>(places - higher) / (same + 1.0));
}

figures_at first_places(std::span<const tied_items> levels, std::uint32_t places) {
  figures_at made;
  std::uint32_t held_out = 0;
  double gained = 0.0;
  each_level(levels, [&](const placed_level& level) {
    held_out += level.held_out;
    if (level.first >= places) return;
    const auto inside = std::min(places - level.first, level.size);
    const double share = static_cast<double>(level.held_out) / level.size;
    if (level.found == 0) made.hit = 1.0 - chance_of_none(level, inside);
    made.recall += share * inside;
    gained += share * gains(level.first + 1, level.first + inside);
    made.map += precisions(level, inside);
  });
  const auto most = std::min(held_out, places);
  made.precision = made.recall / places;
  made.recall /= held_out;
  made.ndcg = gained / gains(1, most);
  made.map /= most;
  return made;
}

double reciprocal_rank(std::span<const tied_items> levels) {
  const auto& best = levels.front();
  const std::uint32_t size = best.tied + best.held_out;
  double sum = 0.0;
  double none = 1.0;  // of those before
  for (std::uint32_t i = 0; i <= best.tied; ++i) {
    const double here = static_cast<double>(best.held_out) / static_cast<double>(size - i);
    sum += none * here / (best.above + i + 1.0);
    none *= 1.0 - here;
  }
  return sum;
}

void find_best(std::span<const float> scores, std::span<const std::uint8_t> left_out, std::size_t count,
               std::vector<std::uint32_t>& best) {
  best.clear();
  count = std::min(count, scores.size());
  if (count == 0) return;
  // Items that may be among the best are collected, and reduced to the best of them once they are many. Of equal scores
  // those that come later are worse. Without a branch: which items may be is not predictable.
  const std::size_t most = 2 * count + 64;
  std::vector<std::uint64_t> found(most);
  std::size_t size = 0;
  const auto by_size = std::greater<>();
  float least = std::numeric_limits<float>::quiet_NaN();  // nothing is below it
  for (std::uint32_t item = 0; item < scores.size(); ++item) {
    found[size] = order_key(scores[item], item);
    const bool may_be = !(scores[item] <= least);
    const bool is_candidate = left_out[item] == 0;
    size += static_cast<std::size_t>(may_be) & static_cast<std::size_t>(is_candidate);
    if (size < most) continue;
    const auto last = found.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::ranges::nth_element(found, last, by_size);
    least = scores[item_of(*last)];
    size = count;
  }
  found.resize(size);
  std::ranges::sort(found, by_size);
  found.resize(std::min(size, count));
  for (const auto key : found) best.push_back(item_of(key));
}

}  // namespace furlong::federated::ranking
