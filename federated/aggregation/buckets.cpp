// Bucketing (Karimireddy, He, Jaggi: "Byzantine-robust learning on heterogeneous datasets via bucketing", 2022): each
// update is drawn into one of B buckets by its client and version, and a robust rule aggregates the means of the
// buckets. The buckets are B sums of integers, whatever the order and the tree. f bad updates spoil at most f buckets,
// so the rule must tolerate f of B. Buckets that are drawn for nobody are left out.
#include <algorithm>

#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/robust/pipeline.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

namespace {

using robust::find_robust_rule;

/// The values of the chosen rule's options: all but those of the buckets have their defaults.
option_values options_with(const option_values& given) {
  auto options = defaults(find_robust_rule(given.text("then")).options);
  for (const auto& [name, value] : given.all()) options.set(name, value);
  return options;
}

class buckets_rule final : public aggregation_rule {
 public:
  buckets_rule(const aggregation_settings& settings, models::layout_ptr shared, const rule_draws& draws)
      : shared_(std::move(shared)),
        draws_(draws),
        count_(static_cast<std::uint32_t>(settings.rule.options.integer("buckets"))),
        pipeline_(find_robust_rule(settings.rule.options.text("then")), options_with(settings.rule.options)),
        grid_(settings.max_norm, 1.0, settings.max_updates) {}

  [[nodiscard]] std::size_t words() const override { return count_ * (shared_->size() + 1); }

  std::optional<rejection> encode(const models::delta& change, const fold_context& context,
                                  std::span<std::int64_t> sum) override {
    const auto bucket = bucket_of(sum, draws_.of_update(context.id).below(count_));
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t position, std::span<const float> values) {
        grid_.add(values, context.freshness, bucket.subspan(position, values.size()));
      });
    ++bucket.back();
    return std::nullopt;
  }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    std::vector<std::vector<float>> means;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const auto bucket = bucket_of(sum, i);
      const auto members = std::exchange(bucket.back(), 0);
      if (members == 0) continue;
      grid_.drain(bucket.first(shared_->size()), static_cast<double>(members), means.emplace_back(shared_->size()));
    }
    const auto made = pipeline_.aggregate({means.begin(), means.end()}, pipeline_.bad_among(out.count));
    out.usable = made.has_value();
    if (made)
      std::ranges::transform(*made, out.change.values().begin(),
                             [](double value) { return static_cast<float>(value); });
  }

 private:
  [[nodiscard]] std::span<std::int64_t> bucket_of(std::span<std::int64_t> sum, std::uint32_t bucket) const {
    return sum.subspan(bucket * (shared_->size() + 1), shared_->size() + 1);
  }

  models::layout_ptr shared_;
  rule_draws draws_;
  std::uint32_t count_;
  robust::pipeline pipeline_;
  fixed_point grid_;
};

void check(scenario_view& scenario) {
  robust::check_pipeline(scenario, nullptr);
  const std::string secure = "privacy.secure_aggregation";
  if (scenario.is_good(secure) && scenario.given().flag(secure))
    scenario.report(secure, "hides single updates, and the rule buckets shows the server sums of a few of them",
                    "remove it, or write rule = \"uniform-mean\"");
  const std::string count = "algorithm.aggregation.buckets";
  const std::string tolerate = "algorithm.aggregation.tolerate";
  const std::string size = "participation.per_round";
  if (!scenario.is_good(count) || !scenario.is_good(tolerate) || !scenario.is_good("algorithm.aggregation.then"))
    return;
  const auto& given = scenario.given();
  const double limit = given.number(tolerate);
  if (limit < 1.0 && !scenario.is_good(size)) return;
  const auto updates = limit < 1.0 ? static_cast<std::size_t>(given.integer(size)) : 0;
  const auto needed =
      fewest_updates(find_robust_rule(given.text("algorithm.aggregation.then")), robust::tolerated(limit, updates));
  if (static_cast<std::size_t>(given.integer(count)) < needed)
    scenario.report(count,
                    "is " + std::to_string(given.integer(count)) + ", and " + std::to_string(needed) +
                        " buckets are needed for the bad updates that " + tolerate + " names",
                    "raise it, or lower " + tolerate);
}

std::vector<option_spec> options() {
  std::vector<std::string> kinds;
  for (const auto& rule : robust::robust_rules()) kinds.push_back(rule.kind);
  std::vector<option_spec> made = {
      integer_option("buckets", 10, "Number of buckets: each costs the server a sum of the model's size.", {1, 4096}),
      choice_option("then", "median", "The rule that aggregates the means of the buckets.", kinds)};
  const auto steps = robust::pipeline_options();
  made.insert(made.end(), steps.begin(), steps.end());
  return made;
}

}  // namespace

rule_entry buckets_entry() {
  return {.kind = "buckets",
          .doc = "A robust rule for the means of buckets, into which updates are drawn (Karimireddy et al. 2022).",
          .options = options(),
          .traits = {.counts_alike = true, .robust = true},
          .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                      const std::vector<double>&, const rule_draws& draws) -> std::unique_ptr<aggregation_rule> {
            return std::make_unique<buckets_rule>(settings, shared, draws);
          },
          .check = check};
}

}  // namespace furlong::federated
