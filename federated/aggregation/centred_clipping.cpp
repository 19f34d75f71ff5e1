// Centred clipping (Karimireddy, He, Jaggi: "Learning from history for Byzantine robust optimization", 2021), one step
// a version: v <- v + mean_i (x_i - v) min(1, tau / |x_i - v|). v is the last version's aggregate and is sent in the
// broadcast; so each update is clipped by itself, and
//
//   v + (sum_i s_i x_i - v sum_i s_i) / n,   s_i = min(1, tau / |x_i - v|),
//
// is two sums of integers. |x - v|^2 = |x|^2 - 2 x.v + |v|^2, over the rows that the update has.
#include <algorithm>
#include <cmath>

#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/row_sums.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

constexpr double factor_unit = 0x1p-40;  // of sum s_i: 2^20 updates stay below 2^62

class centred_clipping_rule final : public aggregation_rule {
 public:
  centred_clipping_rule(const aggregation_settings& settings, models::layout_ptr shared,
                        const std::vector<double>& reference)
      : shared_(std::move(shared)),
        radius_(settings.rule.options.number("radius")),
        grid_(settings.max_norm, 1.0, settings.max_updates),
        center_(shared_->size(), 0.0F) {
    std::ranges::transform(reference, center_.begin(), [](double value) { return static_cast<float>(value); });
    center_squared_ = models::kernels().norm_squared(center_.data(), center_.size());
  }

  [[nodiscard]] std::size_t words() const override { return shared_->size() + 1; }

  std::optional<rejection> encode(const models::delta& change, const fold_context& context,
                                  std::span<std::int64_t> sum) override {
    const auto factor = static_cast<double>(static_cast<float>(factor_of(change) * context.freshness));
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t position, std::span<const float> values) {
        grid_.add(values, factor, sum.subspan(position, values.size()));
      });
    sum.back() += std::llround(factor / factor_unit);
    return std::nullopt;
  }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    out.usable = out.count > 0;
    const auto count = static_cast<double>(out.count);
    const double pull = out.usable ? static_cast<double>(sum.back()) * factor_unit / count : 0.0;
    sum.back() = 0;
    const auto values = out.change.values();
    grid_.drain(sum.first(shared_->size()), count, values);
    if (!out.usable) return;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<double>(values[i]) + (1.0 - pull) * static_cast<double>(center_[i]));
    out.reference.assign(values.begin(), values.end());
  }

 private:
  [[nodiscard]] double factor_of(const models::delta& change) const {
    const double squared =
        center_squared_ + sum_over_rows(*shared_, change, [this](std::size_t position, std::span<const float> values) {
          const auto& kernels = models::kernels();
          return kernels.norm_squared(values.data(), values.size()) -
                 2.0 * kernels.dot(values.data(), center_.data() + position, values.size());
        });
    return squared > radius_ * radius_ ? radius_ / std::sqrt(squared) : 1.0;
  }

  models::layout_ptr shared_;
  double radius_;
  fixed_point grid_;
  std::vector<float> center_;
  double center_squared_ = 0.0;
};

}  // namespace

rule_entry centred_clipping_entry() {
  return {.kind = "centred-clipping",
          .doc =
              "The mean of the updates, each clipped to a distance from the last version's aggregate (Karimireddy et "
              "al. 2021). The aggregate is sent with the model.",
          .options = {number_option("radius", 1.0, "Largest distance from the last version's aggregate: tau.",
                                    {0.0, 1e300, true})},
          .traits = {.counts_alike = true, .robust = true},
          .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                      const std::vector<double>& reference, const rule_draws&) -> std::unique_ptr<aggregation_rule> {
            return std::make_unique<centred_clipping_rule>(settings, shared, reference);
          },
          .first_reference = [](const aggregation_settings&,
                                const models::layout& shared) { return std::vector<double>(shared.size(), 0.0); }};
}

}  // namespace furlong::federated
