// sum_k n_k d_k / sum_k n_k, n_k the examples of client k's update d_k (FedAvg; McMahan et al. 2017), or with every n_k
// = 1.
#include <cmath>

#include "base/exact_math.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

class mean_rule final : public aggregation_rule {
 public:
  mean_rule(const aggregation_settings& settings, models::layout_ptr shared)
      : shared_(std::move(shared)), weighted_(settings.rule.traits.weighs_examples) {
    const int norm_bits = exact::ceil_log2(settings.max_norm);
    const int one_weight = weighted_ ? exact::ceil_log2(settings.max_weight) : 0;
    const int all_weights = one_weight + exact::ceil_log2(settings.max_updates);
    // One addend is below 2^50 (the kernel rounds it exactly), the sum below 2^62.
    scale_ = std::ldexp(1.0, std::min(50 - one_weight, 62 - all_weights) - norm_bits);
  }

  [[nodiscard]] std::size_t words() const override { return shared_->size(); }

  [[nodiscard]] double units_in_one() const override { return weighted_ ? 0.0 : scale_; }

  std::optional<rejection> encode(const models::delta& change, const fold_context& of,
                                  std::span<std::int64_t> sum) override {
    // Rounded to 24 bits: the products below are exact, and the sums are the same for all kernels.
    const double scale = static_cast<float>((weighted_ ? of.weight : 1.0) * of.freshness) * scale_;
    const auto& fold_fixed = models::kernels().fold_fixed;
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t at, std::span<const float> values) {
        fold_fixed(sum.data() + at, values.data(), values.size(), scale);
      });
    return std::nullopt;
  }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    const auto divisor = static_cast<double>(weighted_ ? out.weight : out.count);
    out.usable = divisor > 0;
    models::kernels().drain_fixed(out.change.values().data(), sum.data(), shared_->size(),
                                  out.usable ? 1.0 / (scale_ * divisor) : 0.0);
  }

 private:
  models::layout_ptr shared_;
  bool weighted_;
  double scale_ = 1.0;
};

std::unique_ptr<aggregation_rule> build(const aggregation_settings& settings, const models::layout_ptr& shared,
                                        const std::vector<double>&) {
  return std::make_unique<mean_rule>(settings, shared);
}

}  // namespace

rule_entry mean_entry() {
  return {.kind = "mean",
          .doc = "The mean of the updates, weighted by their examples (McMahan et al. 2017).",
          .traits = {.weighs_examples = true},
          .build = build};
}

rule_entry uniform_mean_entry() {
  return {.kind = "uniform-mean",
          .doc = "The mean of the updates, which all count equally.",
          .traits = {.counts_alike = true, .sensitivity = 1.0},
          .build = build};
}

}  // namespace furlong::federated
