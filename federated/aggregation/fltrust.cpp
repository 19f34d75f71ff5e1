// FLTrust (Cao, Fang, Liu, Gong: "FLTrust: Byzantine-robust federated learning via trust bootstrapping", 2021): with g0
// the update of a clean root dataset, each update has the trust t_i = max(0, cos(x_i, g0)), and the aggregate is
//
//   sum_i t_i (|g0| / |x_i|) x_i / sum_i t_i,
//
// so that no update counts more than one as long as g0. The server of a federation has no data: the root dataset is
// that of trusted clients (`root`), which train like all others, and g0 is the mean of their last updates. It is sent
// in the broadcast, as the center of centred clipping is, so each update is weighed by itself and the rule is two sums
// of integers, with two more for the next g0. Trust is rounded to 24 bits. Before trusted clients reported there is no
// g0, and the aggregate is the mean of their updates; without any, the model stays.
#include <algorithm>
#include <cmath>

#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/row_sums.hpp"
#include "federated/aggregation/rules.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

constexpr double trust_unit = 0x1p-24;   // sums of 2^20 updates stay below 2^45
constexpr double slack = 1.0 + 0x1p-10;  // scaled values are rounded to float32

class fltrust_rule final : public aggregation_rule {
 public:
  fltrust_rule(const aggregation_settings& settings, models::layout_ptr shared, const std::vector<double>& reference)
      : shared_(std::move(shared)),
        grid_(settings.max_norm, 1.0, settings.max_updates),
        // A tensor of a scaled update may be as long as all tensors of g0 together.
        scaled_grid_(slack * settings.max_norm * std::sqrt(static_cast<double>(shared_->count())), 1.0,
                     settings.max_updates),
        guide_(shared_->size(), 0.0F) {
    for (const double client : settings.rule.options.numbers("root"))
      root_.push_back(static_cast<std::uint32_t>(client));
    std::ranges::transform(reference, guide_.begin(), [](double value) { return static_cast<float>(value); });
    guide_norm_ = std::sqrt(models::kernels().norm_squared(guide_.data(), guide_.size()));
  }

  [[nodiscard]] std::size_t words() const override { return 2 * (shared_->size() + 1); }

  std::optional<rejection> encode(const models::delta& change, const fold_context& context,
                                  std::span<std::int64_t> sum) override {
    const auto half = shared_->size() + 1;
    if (std::ranges::find(root_, context.id.client) != root_.end()) {
      add(change, [&](std::size_t position, std::span<const float> values) {
        grid_.add(values, context.freshness, sum.subspan(half + position, values.size()));
      });
      ++sum.back();
    }
    const auto trust = std::llround(trust_of(change) / trust_unit);
    if (trust == 0) return std::nullopt;
    const double factor =
        static_cast<double>(trust) * trust_unit * guide_norm_ / norm_of(*shared_, change) * context.freshness;
    add(change, [&](std::size_t position, std::span<const float> values) {
      scaled_.resize(values.size());
      std::ranges::transform(values, scaled_.begin(),
                             [factor](float value) { return static_cast<float>(factor * static_cast<double>(value)); });
      scaled_grid_.add(scaled_, 1.0, sum.subspan(position, values.size()));
    });
    sum[shared_->size()] += trust;
    return std::nullopt;
  }

  void report(std::span<std::int64_t> sum, aggregate& out) override {
    const auto size = shared_->size();
    out.change = models::shared_parameters(shared_);
    const double trust = static_cast<double>(std::exchange(sum[size], 0)) * trust_unit;
    const auto roots = std::exchange(sum.back(), 0);
    std::vector<float> guide(size);
    grid_.drain(sum.subspan(size + 1, size), static_cast<double>(roots), guide);
    scaled_grid_.drain(sum.first(size), trust, out.change.values());
    if (guide_norm_ == 0.0) std::ranges::copy(guide, out.change.values().begin());
    out.usable = out.count > 0 && (guide_norm_ > 0.0 ? trust > 0.0 : roots > 0);
    if (roots > 0) out.reference.assign(guide.begin(), guide.end());
  }

 private:
  /// max(0, cos(x, g0)); 0 without g0.
  [[nodiscard]] double trust_of(const models::delta& change) const {
    const double norm = norm_of(*shared_, change);
    if (guide_norm_ == 0.0 || norm == 0.0) return 0.0;
    const double along = sum_over_rows(*shared_, change, [this](std::size_t position, std::span<const float> values) {
      return models::kernels().dot(values.data(), guide_.data() + position, values.size());
    });
    return std::clamp(along / (norm * guide_norm_), 0.0, 1.0);
  }

  template <class Add>
  void add(const models::delta& change, const Add& visit) const {
    for (std::size_t t = 0; t < shared_->count(); ++t) for_each_run(*shared_, t, change, visit);
  }

  models::layout_ptr shared_;
  fixed_point grid_;
  fixed_point scaled_grid_;
  std::vector<float> guide_;  ///< g0; zeros: there is none
  double guide_norm_ = 0.0;
  std::vector<std::uint32_t> root_;
  std::vector<float> scaled_;
};

void check(scenario_view& scenario) {
  const std::string root = "algorithm.aggregation.root";
  if (scenario.is_good(root)) {
    const auto& clients = scenario.given().numbers(root);
    if (clients.empty())
      scenario.report(root, "is empty: updates are compared with those of trusted clients",
                      "list the numbers of clients whose data are known to be clean");
    else if (std::ranges::any_of(clients, [](double client) { return client != std::floor(client); }))
      scenario.report(root, "has a number that is none of a client", "write whole numbers");
  }
  const std::string secure = "privacy.secure_aggregation";
  if (scenario.is_good(secure) && scenario.given().flag(secure))
    scenario.report(secure,
                    "hides single updates, and the rule fltrust shows the server the sum of the few trusted ones",
                    "remove it, or write rule = \"uniform-mean\"");
}

}  // namespace

rule_entry fltrust_entry() {
  return {
      .kind = "fltrust",
      .doc =
          "Updates count by their cosine to the last one of trusted clients, and are as long as it is (FLTrust; Cao "
          "et al. 2021). It is sent with the model.",
      .options = {{.name = "root",
                   .type = option_type::number_list,
                   .fallback = std::vector<double>(),
                   .doc = "The trusted clients by their numbers: they have the root dataset.",
                   .at_least = 0.0,
                   .at_most = 4294967295.0}},
      .traits = {.counts_alike = true, .robust = true},
      .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                  const std::vector<double>& reference, const rule_draws&) -> std::unique_ptr<aggregation_rule> {
        return std::make_unique<fltrust_rule>(settings, shared, reference);
      },
      .first_reference = [](const aggregation_settings&,
                            const models::layout& shared) { return std::vector<double>(shared.size(), 0.0); },
      .check = check};
}

}  // namespace furlong::federated
