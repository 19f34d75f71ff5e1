// sum_k n_k d_k / sum_k n_k, n_k the examples of client k's update d_k (FedAvg; McMahan et al. 2017), or with every n_k
// = 1.
#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

namespace {

class mean_rule final : public aggregation_rule {
 public:
  mean_rule(const aggregation_settings& settings, models::layout_ptr shared)
      : shared_(std::move(shared)),
        weighted_(settings.rule.traits.weighs_examples),
        grid_(settings.max_norm, weighted_ ? settings.max_weight : 1.0, settings.max_updates) {}

  [[nodiscard]] std::size_t words() const override { return shared_->size(); }

  [[nodiscard]] double units_in_one() const override { return weighted_ ? 0.0 : grid_.units_in_one(); }

  std::optional<rejection> encode(const models::delta& change, const fold_context& of,
                                  std::span<std::int64_t> sum) override {
    const double weight = (weighted_ ? of.weight : 1.0) * of.freshness;
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t at, std::span<const float> values) {
        grid_.add(values, weight, sum.subspan(at, values.size()));
      });
    return std::nullopt;
  }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    const auto divisor = static_cast<double>(weighted_ ? out.weight : out.count);
    out.usable = divisor > 0;
    grid_.drain(sum, divisor, out.change.values());
  }

 private:
  models::layout_ptr shared_;
  bool weighted_;
  fixed_point grid_;
};

std::unique_ptr<aggregation_rule> build(const aggregation_settings& settings, const models::layout_ptr& shared,
                                        const std::vector<double>&, const rule_draws&) {
  return std::make_unique<mean_rule>(settings, shared);
}

}  // namespace

rule_entry mean_entry() {
  return {.kind = "mean",
          .doc = "The mean of the updates, weighted by their examples (McMahan et al. 2017).",
          .traits = {.weighs_examples = true, .takes_all = true},
          .build = build};
}

rule_entry uniform_mean_entry() {
  return {.kind = "uniform-mean",
          .doc = "The mean of the updates, which all count equally.",
          .traits = {.counts_alike = true, .sensitivity = 1.0, .takes_all = true},
          .build = build};
}

}  // namespace furlong::federated
