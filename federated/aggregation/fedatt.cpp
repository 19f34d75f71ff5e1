// FedAtt (Ji et al., "Learning private neural language modeling with attentive aggregation", 2019), streamed.
//
// Per tensor: s_k = ||d_k||, optionally the spectral norm (spectral_norm.hpp), alpha_k = exp(s_k) / sum_j exp(s_j),
// change = eps sum_k alpha_k d_k. The softmax does not change when a constant is subtracted from every s, so exp(s_k -
// c) is summed with a c that is fixed before the round and sent in the broadcast: no update waits for another. c
// follows the last round's mean distance; in the first round it is the distance that noise alone causes. Buffers are
// averaged alike.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/exact_math.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/aggregation/spectral_norm.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

constexpr double largest_exponent = 30.0;
constexpr std::uint64_t most_updates = 4096;  // limit of 62 bits, without exponent and grid

/// FedAtt's distance of a matrix: the root of its squared elements, or its largest singular value. Tensors of one row
/// or one column are vectors, with the L2 norm.
bool is_spectral(const aggregation_settings& settings) { return settings.rule.options.text("norm") == "spectral"; }

// c is this far below the expected distance: a margin for cohorts that move less.
constexpr double reference_margin = 10.0;
// exp(30) < 2^43.3; with |v| <= max_norm the coarse word of one update stays below 2^50, 4096 of them below 2^62.
constexpr int exponent_bits = 44;
constexpr double distance_unit = 0x1p-20;
// Below this mean attention the fixed-point grid is too coarse for the values.
constexpr double least_attention = 0x1p-24;

/// The c of a round with this expected distance.
double reference_for(double distance) { return std::max(0.0, distance - reference_margin); }

class fedatt_rule final : public aggregation_rule {
 public:
  fedatt_rule(const aggregation_settings& settings, models::layout_ptr shared, std::vector<double> reference)
      : shared_(std::move(shared)),
        reference_(std::move(reference)),
        eps_(settings.rule.options.number("eps")),
        spectral_(is_spectral(settings)),
        scale_(std::ldexp(1.0, 50 - exponent_bits - exact::ceil_log2(std::max(settings.max_norm, 1.0)))) {
    reference_.resize(shared_->count(), 0.0);
    attention_.resize(shared_->count());
    distance_.resize(shared_->count());
  }

  [[nodiscard]] std::size_t words() const override { return 3 * shared_->count() + 2 * shared_->size(); }

  std::optional<rejection> encode(const models::delta& change, const fold_context& of,
                                  std::span<std::int64_t> sum) override {
    for (std::size_t t = 0; t < shared_->count(); ++t) {
      distance_[t] = (*shared_)[t].buffer ? 0.0 : distance_of(t, change);  // of buffers the plain mean
      const double exponent = distance_[t] - reference_[t];
      if (std::abs(exponent) > largest_exponent) return rejection::attention_range;
      // Rounded to 24 bits: the products below are exact for all kernels.
      attention_[t] = static_cast<float>(exact::exp(exponent));
    }
    for (std::size_t t = 0; t < shared_->count(); ++t) fold_tensor(t, change, of.freshness, sum);
    return std::nullopt;
  }

  [[nodiscard]] std::span<const double> distances() const override { return distance_; }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    out.usable = out.count > 0;
    for (std::size_t t = 0; t < shared_->count(); ++t) report_tensor(t, sum, out);
    // report() has cleared the words of values, unless a tensor was unusable.
    const auto left = out.usable ? 3 * shared_->count() : sum.size();
    std::fill_n(sum.begin(), left, 0);
  }

 private:
  // Per tensor: the sum of attention in two words and of distances in one; then the coarse and the fine words of all
  // values.
  static std::int64_t* attention_words(std::span<std::int64_t> sum, std::size_t t) { return sum.data() + 3 * t; }
  [[nodiscard]] std::int64_t* coarse(std::span<std::int64_t> sum, std::size_t at) const {
    return sum.data() + 3 * shared_->count() + at;
  }
  [[nodiscard]] std::int64_t* fine(std::span<std::int64_t> sum, std::size_t at) const {
    return coarse(sum, at) + shared_->size();
  }

  double distance_of(std::size_t t, const models::delta& change) {
    const std::size_t cols = (*shared_)[t].cols;
    const auto values = rows_in_order(t, change);
    if (spectral_) return spectral_norm(values, cols);
    const auto& norm_squared = models::kernels().norm_squared;
    if ((*shared_)[t].index == models::row_index::none) return std::sqrt(norm_squared(values.data(), values.size()));
    // Row by row: rows of zeros, which only dense updates have, add nothing.
    double squares = 0.0;
    for (std::size_t at = 0; at < values.size(); at += cols) squares += norm_squared(values.data() + at, cols);
    return std::sqrt(squares);
  }

  /// A tensor's values in row order: an update and its dense copy have the same norm, bit for bit.
  std::span<const float> rows_in_order(std::size_t t, const models::delta& change) {
    const auto values = change.values_of(t);
    if (!change.pieces[t].by_rows) return values;
    const std::size_t cols = (*shared_)[t].cols;
    const auto rows = change.rows_of(t);
    order_.resize(rows.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t i) { return rows[i]; });
    sorted_.clear();
    for (const auto i : order_) {
      const auto row = values.subspan(i * cols, cols);
      sorted_.insert(sorted_.end(), row.begin(), row.end());
    }
    return sorted_;
  }

  void fold_tensor(std::size_t t, const models::delta& change, double freshness, std::span<std::int64_t> sum) {
    const auto& fold_wide = models::kernels().fold_wide;
    const float one = 1.0F;
    auto* const own = attention_words(sum, t);
    fold_wide(own, own + 1, &one, 1, attention_[t] * scale_);
    // Rounded to 24 bits for the same reason.
    const double scale = static_cast<float>(attention_[t] * freshness) * scale_;
    own[2] += std::llround(distance_[t] / distance_unit);
    for_each_run(*shared_, t, change, [&](std::size_t at, std::span<const float> values) {
      fold_wide(coarse(sum, at), fine(sum, at), values.data(), values.size(), scale);
    });
  }

  static double wide(std::int64_t coarse_word, std::int64_t fine_word) {
    return static_cast<double>(coarse_word) + static_cast<double>(fine_word) * 0x1p-48;
  }

  void report_tensor(std::size_t t, std::span<std::int64_t> sum, aggregate& out) {
    if (out.count == 0) {  // keeps c: one that is too low would reject the whole next round
      out.reference.push_back(reference_[t]);
      return;
    }
    const auto count = static_cast<double>(out.count);
    const double mean_distance = static_cast<double>(attention_words(sum, t)[2]) * distance_unit / count;
    out.reference.push_back(reference_for(mean_distance));
    const double total = wide(attention_words(sum, t)[0], attention_words(sum, t)[1]);
    if (total < least_attention * scale_ * count) {
      out.usable = false;
      return;
    }
    const auto values = out.change.tensor(t);
    const auto at = shared_->offset(t);
    models::kernels().drain_wide(values.data(), coarse(sum, at), fine(sum, at), values.size(),
                                 ((*shared_)[t].buffer ? 1.0 : eps_) / total);
  }

  models::layout_ptr shared_;
  std::vector<double> reference_;
  double eps_;
  bool spectral_;
  double scale_;
  std::vector<double> attention_;
  std::vector<double> distance_;
  std::vector<std::size_t> order_;  // of the rows of an update
  std::vector<float> sorted_;
};

/// The distance that noise alone causes: the norm of a matrix of normal numbers; for the spectral norm at most
/// sqrt(rows) + sqrt(cols) on average (Davidson and Szarek, "Local operator theory, random matrices and Banach spaces",
/// 2001).
double distance_of_noise(const aggregation_settings& settings, const models::tensor_spec& spec) {
  if (settings.noise_at != noise_place::client) return 0.0;
  const bool vector = spec.rows == 1 || spec.cols == 1;
  const auto root = [](std::size_t n) { return std::sqrt(static_cast<double>(n)); };
  if (!is_spectral(settings) || vector) return settings.noise * root(spec.size());
  return settings.noise * (root(spec.rows) + root(spec.cols));
}

std::vector<double> first_reference_of(const aggregation_settings& settings, const models::layout& shared) {
  std::vector<double> reference;
  for (const auto& spec : shared.tensors()) reference.push_back(reference_for(distance_of_noise(settings, spec)));
  return reference;
}

/// FedAsync moves towards a client's model, which is its start plus its whole delta.
void check(scenario_view& of) {
  const std::string eps = "algorithm.aggregation.eps";
  const auto is = [&](const char* key, const char* word) { return of.is_good(key) && of.given().text(key) == word; };
  if (is("participation.mode", "async") && is("participation.update", "model") && of.is_good(eps) &&
      of.given().number(eps) != 1.0)
    of.report(eps, "is not 1, so fedatt scales the step; update = \"model\" needs the whole step to the client's model",
              "write eps = 1, or choose the rule mean or update = \"change\"");
}

}  // namespace

rule_entry attention_entry() {
  return {.kind = "fedatt",
          .doc = "Per tensor, updates weigh by the softmax of how far they moved it (Ji et al. 2019).",
          .options = {{.name = "eps",
                       .type = option_type::number,
                       .fallback = 1.0,
                       .doc = "Step size.",
                       .at_least = 0.0,
                       .above = true},
                      {.name = "norm",
                       .type = option_type::choice,
                       .fallback = std::string("frobenius"),
                       .doc = "How far a matrix moved: root of the squared elements, or largest singular value (the "
                              "paper's code). Vectors have their L2 norm.",
                       .choices = {"frobenius", "spectral"}}},
          .traits = {.measures_distance = true, .most_updates = most_updates},
          .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                      const std::vector<double>& reference, const rule_draws&) -> std::unique_ptr<aggregation_rule> {
            return std::make_unique<fedatt_rule>(settings, shared, reference);
          },
          .first_reference = first_reference_of,
          .check = check};
}

}  // namespace furlong::federated
