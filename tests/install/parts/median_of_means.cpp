// Median of means. Chen, Su, Xu: Distributed statistical machine learning in adversarial settings, SIGMETRICS 2017,
// algorithm 2: updates are drawn into buckets, and of each value the aggregate is the median of the buckets' means.
#include <algorithm>

#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;
namespace models = furlong::models;

class median_of_means final : public aggregation_rule {
 public:
  median_of_means(const aggregation_settings& settings, models::layout_ptr shared, const rule_draws& draws)
      : buckets_(static_cast<std::uint32_t>(settings.rule.options.integer("buckets"))),
        draws_(draws),
        grid_(settings.max_norm, 1.0, settings.max_updates),
        shared_(std::move(shared)) {}

  /// Of each bucket the sums of all values, and the number of updates.
  [[nodiscard]] std::size_t words() const override { return buckets_ * (shared_->size() + 1); }
  std::optional<rejection> encode(const models::delta& change, const fold_context& update,
                                  std::span<std::int64_t> sum) override {
    const auto bucket = bucket_of(sum, draws_.of_update(update.id).below(buckets_));
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t begin, std::span<const float> values) {
        grid_.add(values, update.freshness, bucket.subspan(begin, values.size()));
      });
    ++bucket.back();
    return std::nullopt;
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override {
    std::vector<std::vector<float>> means;
    for (std::uint32_t b = 0; b < buckets_; ++b) {
      const auto bucket = bucket_of(sum, b);
      const auto count = std::exchange(bucket.back(), 0);
      if (count == 0) continue;
      grid_.drain(bucket.first(shared_->size()), static_cast<double>(count), means.emplace_back(shared_->size()));
    }
    out.change = models::shared_parameters(shared_);
    out.usable = !means.empty();
    std::vector<float> column(means.size());
    for (std::size_t i = 0; out.usable && i < shared_->size(); ++i) {
      std::ranges::transform(means, column.begin(), [i](const auto& mean) { return mean[i]; });
      std::ranges::sort(column);
      out.change.values()[i] = (column[(column.size() - 1) / 2] + column[column.size() / 2]) / 2.0F;
    }
  }

 private:
  [[nodiscard]] std::span<std::int64_t> bucket_of(std::span<std::int64_t> sum, std::size_t number) const {
    return sum.subspan(number * (shared_->size() + 1), shared_->size() + 1);
  }

  std::uint32_t buckets_;
  rule_draws draws_;
  fixed_point grid_;
  models::layout_ptr shared_;
};

}  // namespace

rule_entry median_of_means_entry() {
  return {.kind = "median-of-means",
          .doc = "The median of the means of buckets, into which updates are drawn (Chen et al. 2017).",
          .options = {whole_number("buckets", 5, "Buckets.")},
          .traits = {.counts_alike = true},
          .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                      const std::vector<double>&, const rule_draws& draws) -> std::unique_ptr<aggregation_rule> {
            return std::make_unique<median_of_means>(settings, shared, draws);
          }};
}

}  // namespace parts
