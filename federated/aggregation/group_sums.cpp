#include "federated/aggregation/group_sums.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

/// One addend is below 2^50 (the kernel rounds it exactly), the sum below 2^62.
double units_in_one(const placed_group& group, const aggregation_settings& settings) {
  const int weight_bits = group.rule == sum_rule::mean ? exact::ceil_log2(settings.max_weight) : 0;
  const int room = std::min(50 - weight_bits, 62 - weight_bits - exact::ceil_log2(settings.max_updates));
  return std::ldexp(1.0, room - exact::ceil_log2(group.max_norm));
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
        {g, group.in_up, group.count(), begin, size, group.rule, units_in_one(group, *e.settings.aggregation)});
    begin += size;
  }
}

bool group_sums::weighs_examples() const {
  return std::ranges::any_of(segments_, [](const segment& one) { return one.rule == sum_rule::mean; });
}

void group_sums::fold(const models::delta& change, std::uint32_t weight, double freshness,
                      std::span<std::int64_t> sum) const {
  const auto& fold_fixed = models::kernels().fold_fixed;
  for (const auto& one : segments_) {
    // Rounded to 24 bits: the products below are exact, and the sums are the same for all kernels.
    const double scale = static_cast<float>((one.rule == sum_rule::mean ? weight : 1.0) * freshness) * one.scale;
    const auto first_value = up_->offset(one.first);
    for (std::size_t t = one.first; t < one.first + one.count; ++t)
      for_each_run(*up_, t, change, [&](std::size_t at, std::span<const float> values) {
        fold_fixed(sum.data() + one.begin + (at - first_value), values.data(), values.size(), scale);
      });
  }
}

void group_sums::visit(std::span<std::int64_t> sum,
                       function_ref<void(std::size_t, std::span<std::int64_t>, double)> visit) const {
  for (const auto& one : segments_) visit(one.group, sum.subspan(one.begin, one.size), one.scale);
}

void group_sums::report(std::span<std::int64_t> sum, aggregate& out) const {
  if (segments_.empty()) return;
  out.added = models::shared_parameters(reported_);
  for (const auto& one : segments_) {
    const auto divisor = one.rule == sum_rule::sum    ? 1.0
                         : one.rule == sum_rule::mean ? static_cast<double>(out.weight)
                                                      : static_cast<double>(out.count);
    models::kernels().drain_fixed(out.added.values().data() + one.begin, sum.data() + one.begin, one.size,
                                  divisor > 0 ? 1.0 / (one.scale * divisor) : 0.0);
  }
}

}  // namespace furlong::federated
