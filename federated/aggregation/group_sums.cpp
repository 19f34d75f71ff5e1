#include "federated/aggregation/group_sums.hpp"

#include <algorithm>

#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

namespace {

fixed_point grid_of(const placed_group& group, const aggregation_settings& settings) {
  return {group.max_norm, group.rule == sum_rule::mean ? settings.max_weight : 1.0,
          static_cast<double>(settings.max_updates)};
}

}  // namespace

group_sums::group_sums(const experiment& e) : up_(e.parts.up), reported_(e.parts.reported) {
  std::size_t begin = 0;
  for (std::size_t g = 0; g < e.groups.size(); ++g) {
    const auto& group = e.groups[g];
    if (group.in_up == placed_group::nowhere) continue;
    std::size_t size = 0;
    for (std::size_t i = 0; i < group.count(); ++i) size += (*up_)[group.in_up + i].size();
    segments_.push_back(
        {g, group.in_up, group.count(), begin, size, group.rule, grid_of(group, *e.settings.aggregation)});
    begin += size;
  }
}

bool group_sums::weighs_examples() const {
  return std::ranges::any_of(segments_, [](const segment& one) { return one.rule == sum_rule::mean; });
}

void group_sums::fold(const models::delta& change, std::uint32_t weight, double freshness,
                      std::span<std::int64_t> sum) const {
  for (const auto& one : segments_) {
    const double factor = (one.rule == sum_rule::mean ? weight : 1.0) * freshness;
    const auto first_value = up_->offset(one.first);
    for (std::size_t t = one.first; t < one.first + one.count; ++t)
      for_each_run(*up_, t, change, [&](std::size_t at, std::span<const float> values) {
        one.grid.add(values, factor, sum.subspan(one.begin + (at - first_value), values.size()));
      });
  }
}

void group_sums::visit(std::span<std::int64_t> sum,
                       function_ref<void(std::size_t, std::span<std::int64_t>, double)> visit) const {
  for (const auto& one : segments_) visit(one.group, sum.subspan(one.begin, one.size), one.grid.units_in_one());
}

void group_sums::report(std::span<std::int64_t> sum, aggregate& out) const {
  if (segments_.empty()) return;
  out.added = models::shared_parameters(reported_);
  for (const auto& one : segments_) {
    const auto divisor = one.rule == sum_rule::sum    ? 1.0
                         : one.rule == sum_rule::mean ? static_cast<double>(out.weight)
                                                      : static_cast<double>(out.count);
    one.grid.drain(sum.subspan(one.begin, one.size), divisor, out.added.values().subspan(one.begin, one.size));
  }
}

}  // namespace furlong::federated
