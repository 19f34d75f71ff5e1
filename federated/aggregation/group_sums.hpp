// Exact sums of the added tensors that clients report: each group has its own linear rule and a fixed-point unit
// derived from its norm bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/aggregation/fixed_point.hpp"
#include "federated/experiment/experiment.hpp"
#include "models/delta.hpp"

namespace furlong::federated {

/// One word per value of partition::reported, in its order. Immutable; the caller owns the words. Words of several
/// updates add up in any order (rule.hpp).
class group_sums {
 public:
  /// Of no group.
  group_sums() = default;
  explicit group_sums(const experiment& e);

  [[nodiscard]] std::size_t words() const { return reported_ ? reported_->size() : 0; }
  /// True if a group's rule weighs updates by their examples.
  [[nodiscard]] bool weighs_examples() const;
  /// Adds the values of an update that validate() accepted, scaled by `freshness`.
  void fold(const models::delta& change, std::uint32_t weight, double freshness, std::span<std::int64_t> sum) const;
  /// Calls visit(group, words, units in 1) for the words of each group, by its number.
  void visit(std::span<std::int64_t> sum,
             function_ref<void(std::size_t group, std::span<std::int64_t> words, double units)> visit) const;
  /// Computes `out.added` from the sum; needs the count and weight of `out`. Clears the sum.
  void report(std::span<std::int64_t> sum, aggregate& out) const;

 private:
  struct segment {
    std::size_t group = 0;  ///< its number
    std::size_t first = 0;  ///< tensor of the update
    std::size_t count = 0;  ///< tensors
    std::size_t begin = 0;  ///< word of the first one's first value
    std::size_t size = 0;   ///< words
    sum_rule rule = sum_rule::sum;
    fixed_point grid;
  };

  models::layout_ptr up_;
  models::layout_ptr reported_;
  std::vector<segment> segments_;
};

}  // namespace furlong::federated
