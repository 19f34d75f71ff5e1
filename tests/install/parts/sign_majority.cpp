// signSGD with majority vote. Bernstein, Wang, Azizzadenesheli, Anandkumar: signSGD: compressed optimisation for
// non-convex problems, ICML 2018, algorithm 1: change = step * sign(sum_k sign(d_k)), value by value.
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;
namespace models = furlong::models;

int sign_of(auto value) { return (value > 0) - (value < 0); }

class sign_majority final : public aggregation_rule {
 public:
  sign_majority(float step, models::layout_ptr shared) : step_(step), shared_(std::move(shared)) {}

  [[nodiscard]] std::size_t words() const override { return shared_->size(); }
  std::optional<rejection> encode(const models::delta& change, const fold_context&,
                                  std::span<std::int64_t> sum) override {
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t at, std::span<const float> values) {
        for (const auto value : values) sum[at++] += sign_of(value);
      });
    return std::nullopt;
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    out.usable = out.count > 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      out.change.values()[i] = step_ * static_cast<float>(sign_of(sum[i]));
      sum[i] = 0;
    }
  }

 private:
  float step_;
  models::layout_ptr shared_;
};

}  // namespace

rule_entry sign_majority_entry() {
  return {.kind = "sign-majority",
          .doc = "Each value moves by one step in the direction of most updates (Bernstein et al. 2018).",
          .options = {{.name = "step",
                       .type = furlong::option_type::number,
                       .fallback = 0.01,
                       .doc = "How far.",
                       .at_least = 0,
                       .above = true}},
          .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                      const std::vector<double>&, const rule_draws&) -> std::unique_ptr<aggregation_rule> {
            return std::make_unique<sign_majority>(static_cast<float>(settings.rule.options.number("step")), shared);
          }};
}

}  // namespace parts
