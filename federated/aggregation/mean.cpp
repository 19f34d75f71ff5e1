#include <cmath>

#include "federated/aggregation/rules.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

int bits_for(double bound) { return static_cast<int>(std::ceil(std::log2(bound))); }

class mean_accumulator final : public accumulator {
 public:
  mean_accumulator(const aggregation_settings& settings, models::layout_ptr shared)
      : accumulator(header_words + shared->size(), settings.max_updates,
                    settings.rule == rule_kind::mean ? std::uint64_t{settings.max_weight} * settings.max_updates
                                                     : UINT64_MAX >> 1),
        shared_(std::move(shared)),
        weighted_(settings.rule == rule_kind::mean) {
    const int norm_bits = bits_for(settings.max_norm);
    const int one_weight = weighted_ ? bits_for(settings.max_weight) : 0;
    const int all_weights = one_weight + bits_for(settings.max_updates);
    // One addend stays below 2^50 (what the kernel rounds exactly), the sum below 2^62.
    scale_ = std::ldexp(1.0, std::min(50 - one_weight, 62 - all_weights) - norm_bits);
  }

  std::optional<rejection> fold(const client_update& update, double freshness) override {
    if (update.weight == 0) return std::nullopt;  // the client had nothing to say
    if (!has_room(update.weight)) return rejection::weight_bound;
    // To 24 bits, so that the products below are exact: the same sums whichever kernels fold them.
    const double scale = static_cast<float>((weighted_ ? update.weight : 1.0) * freshness) * scale_;
    std::int64_t* const sums = words_.data() + header_words;
    const auto& fold_fixed = models::kernels().fold_fixed;
    for (std::size_t t = 0; t < shared_->count(); ++t) {
      const auto values = update.change.values_of(t);
      std::int64_t* const to = sums + shared_->offset(t);
      if (!update.change.pieces[t].by_rows) {
        fold_fixed(to, values.data(), values.size(), scale);
        continue;
      }
      const std::size_t cols = (*shared_)[t].cols;
      const float* from = values.data();
      for (const auto row : update.change.rows_of(t)) {
        fold_fixed(to + row * cols, from, cols, scale);
        from += cols;
      }
    }
    count_update(update);
    return std::nullopt;
  }

  aggregate report() override {
    aggregate out;
    report_header(out);
    out.change = models::shared_parameters(shared_);
    const auto divisor = static_cast<double>(weighted_ ? out.weight : out.count);
    out.usable = divisor > 0;
    models::kernels().drain_fixed(out.change.values().data(), words_.data() + header_words, shared_->size(),
                                  out.usable ? 1.0 / (scale_ * divisor) : 0.0);
    return out;
  }

 private:
  models::layout_ptr shared_;
  bool weighted_;
  double scale_ = 1.0;
};

}  // namespace

std::unique_ptr<accumulator> make_mean(const aggregation_settings& settings, const models::layout_ptr& shared,
                                       const std::vector<double>&) {
  return std::make_unique<mean_accumulator>(settings, shared);
}

}  // namespace furlong::federated
