// The mean of updates that are clipped to a length that follows the last version's: that of adaptive robust clipping
// (Allouah et al., "Adaptive gradient clipping for robust federated learning", 2024), which clips the k = floor(2 (f /
// n) (n - f)) longest of n updates to the longest of the others. The lengths of a version are counted by level
// (update_size.hpp, four an octave), and its limit is sent with the next version: so each update is clipped by itself,
// and the mean is a sum of integers. The first version has no limit.
#include <algorithm>
#include <cmath>

#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/robust/before.hpp"
#include "federated/aggregation/robust/pipeline.hpp"
#include "federated/aggregation/row_sums.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

namespace {

class arc_rule final : public aggregation_rule {
 public:
  arc_rule(const aggregation_settings& settings, models::layout_ptr shared, const std::vector<double>& reference)
      : shared_(std::move(shared)),
        tolerate_(settings.rule.options.number("tolerate")),
        longest_(reference.empty() ? 0.0 : reference.front()),
        grid_(settings.max_norm, 1.0, settings.max_updates) {}

  [[nodiscard]] std::size_t words() const override { return shared_->size() + size_level_count; }

  std::optional<rejection> encode(const models::delta& change, const fold_context& context,
                                  std::span<std::int64_t> sum) override {
    const double norm = norm_of(*shared_, change);
    const double factor = longest_ > 0.0 && norm > longest_ ? longest_ / norm : 1.0;
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t position, std::span<const float> values) {
        grid_.add(values, factor * context.freshness, sum.subspan(position, values.size()));
      });
    ++levels(sum)[level_of_square(norm * norm)];
    return std::nullopt;
  }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    out.usable = out.count > 0;
    grid_.drain(sum.first(shared_->size()), static_cast<double>(out.count), out.change.values());
    if (out.usable) out.reference.push_back(limit(levels(sum), out.count));
    std::ranges::fill(levels(sum), 0);
  }

 private:
  [[nodiscard]] std::span<std::int64_t> levels(std::span<std::int64_t> sum) const {
    return sum.subspan(shared_->size());
  }

  /// The upper bound of the level that has the longest update that is not clipped. Of masked updates the counts by
  /// level are what clients said: they need not add up to the number of updates.
  [[nodiscard]] double limit(std::span<const std::int64_t> counts, std::size_t count) const {
    const auto bad = std::min(robust::tolerated(tolerate_, count), count / 2);
    auto left = static_cast<std::int64_t>(count - robust::arc_clipped(count, bad));
    for (std::size_t level = 0; level < counts.size(); ++level)
      if ((left -= std::clamp<std::int64_t>(counts[level], 0, left)) == 0)
        return top_of(static_cast<size_level>(level));
    return 0.0;
  }

  models::layout_ptr shared_;
  double tolerate_;
  double longest_;
  fixed_point grid_;
};

}  // namespace

rule_entry arc_entry() {
  return {
      .kind = "arc",
      .doc =
          "The mean of the updates, the longest of which are clipped to a length that the last version's updates "
          "had (adaptive robust clipping; Allouah et al. 2024).",
      .options = {robust::pipeline_options().front()},
      .traits = {.counts_alike = true, .robust = true},
      .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                  const std::vector<double>& reference, const rule_draws&) -> std::unique_ptr<aggregation_rule> {
        return std::make_unique<arc_rule>(settings, shared, reference);
      },
      .first_reference = [](const aggregation_settings&, const models::layout&) { return std::vector<double>{0.0}; },
      .check = [](scenario_view& scenario) { robust::check_pipeline(scenario, nullptr); }};
}

}  // namespace furlong::federated
