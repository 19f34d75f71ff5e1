#include "tests/campaigns/bad_updates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::campaigns {

namespace {

using models::row_index;

/// Rounding must not carry an update beyond a limit.
constexpr double inside = 1.0 - 1e-6;
/// Each pass comes closer to the largest accepted update; a few are enough.
constexpr int most_passes = 12;

double norm_of(std::span<const float> values) {
  return std::sqrt(models::kernels().norm_squared(values.data(), values.size()));
}

void scale(std::span<float> values, double factor) {
  for (auto& value : values) value = static_cast<float>(value * factor);
}

/// The largest size that a limit allows.
double most(federated::size_level limit) {
  return limit == 0 ? std::numeric_limits<double>::infinity() : federated::top_of(limit);
}

/// The norm bound of one tensor of an update.
double max_norm(const federated::experiment& e, std::size_t tensor) {
  for (const auto& group : e.groups)
    if (group.in_up != federated::placed_group::nowhere && tensor >= group.in_up &&
        tensor < group.in_up + group.count())
      return group.max_norm;
  return e.settings.aggregation->max_norm;
}

/// Shortens what is beyond the limits of rows and of tensors.
void shorten(const federated::experiment& e, std::span<float> values, double row) {
  const auto& up = *e.parts.up;
  for (std::size_t t = 0; t < up.count(); ++t) {
    const auto tensor = values.subspan(up.offset(t), up[t].size());
    for (std::size_t at = 0; up[t].index != row_index::none && at < tensor.size(); at += up[t].cols) {
      const auto one = tensor.subspan(at, up[t].cols);
      if (const double now = norm_of(one); now > row) scale(one, row / now);
    }
    const double bound = max_norm(e, t) * inside;
    if (const double now = norm_of(tensor); now > bound) scale(tensor, bound / now);
  }
}

/// Scales values up to the limits: as long as the norm allows, less where a row or a tensor would be too long; what
/// these leave goes to the others.
void stretch(const federated::experiment& e, std::span<float> values, const federated::update_bounds& bounds) {
  const auto& up = *e.parts.up;
  double all_tensors = 0.0;
  for (std::size_t t = 0; t < up.count(); ++t) all_tensors += max_norm(e, t) * max_norm(e, t);
  const double norm = inside * std::min({most(bounds.limits.norm), bounds.longest, std::sqrt(all_tensors)});
  const double row = inside * most(bounds.limits.row);
  double now = norm_of(values);
  if (now == 0.0) return;
  for (int pass = 0; pass < most_passes; ++pass) {
    const double before = now;
    scale(values, norm / now);
    shorten(e, values, row);
    now = norm_of(values);
    if (pass > 0 && now - before <= 1e-4 * norm) return;
  }
}

/// The item's bias, and its row in the direction of the attackers' taste, if they have one.
void promote(const models::layout& up, std::uint32_t item, std::span<const float> taste, std::span<float> values) {
  for (std::size_t t = 0; t < up.count(); ++t) {
    if (up[t].index != row_index::by_feature) continue;
    const auto row = values.subspan(up.offset(t) + std::size_t{item} * up[t].cols, up[t].cols);
    if (row.size() == 1)
      row[0] = 1.0F;
    else if (row.size() == taste.size() && norm_of(taste) > 0.0)
      std::ranges::transform(taste, row.begin(), [&](float v) { return static_cast<float>(v / norm_of(taste)); });
  }
}

/// The first table with a row for each feature or client. A table of words may be sent whole: it has no limit of rows.
std::size_t first_table(const federated::experiment& e) {
  const auto& up = *e.parts.up;
  for (std::size_t t = 0; t < up.count(); ++t)
    if (up[t].index != row_index::none || (up[t].rows > 1 && up[t].rows == e.clients->facts().features)) return t;
  return 0;
}

void fill_row(const federated::experiment& e, std::uint32_t feature, std::span<float> values) {
  const auto table = first_table(e);
  const auto& spec = (*e.parts.up)[table];
  const auto row = spec.index != row_index::by_client && feature < spec.rows ? std::size_t{feature} : std::size_t{0};
  std::ranges::fill(values.subspan(e.parts.up->offset(table) + row * spec.cols, spec.cols), 1.0F);
}

}  // namespace

std::string_view to_string(attack how) {
  constexpr std::array<std::string_view, 7> names{"none",      "minus-mean", "minus-sd", "one-row",
                                                  "direction", "promotion",  "early"};
  return names.at(static_cast<std::size_t>(how));
}

std::string to_string(const attack_variant& variant) {
  std::string text(to_string(variant.how));
  char number[32] = "";
  if (variant.how == attack::minus_sd) std::snprintf(number, sizeof number, " x %.1f", variant.deviations);
  if (variant.how == attack::one_row) std::snprintf(number, sizeof number, " at %.1f", variant.popularity);
  return text + (variant.bias_only ? " by bias" : number);
}

std::vector<attack_variant> variants_of(attack how, bool several) {
  std::vector<attack_variant> variants{{.how = how}};
  if (how == attack::minus_sd)
    variants = {{.how = how, .deviations = 1.5}, {.how = how, .deviations = 0.5}, {.how = how, .deviations = 5.0}};
  if (how == attack::one_row)
    variants = {{.how = how, .popularity = 1.0}, {.how = how, .popularity = 0.5}, {.how = how, .popularity = 0.1}};
  if (how == attack::promotion) variants = {{.how = how}, {.how = how, .bias_only = true}};
  if (!several) variants.resize(1);
  return variants;
}

target_features find_targets(const federated::experiment& e) {
  const std::size_t features = e.clients->facts().features;
  std::vector<std::uint64_t> counts(features);
  std::vector<double> labels(features);
  models::examples scratch;
  for (const auto client : e.clients->training()) {
    const auto data = e.clients->load(client, federated::part::train, scratch);
    for (std::size_t i = 0; i < data.features.size(); ++i) {
      ++counts[data.features[i]];
      if (data.offsets.empty()) labels[data.features[i]] += data.labels[i];
    }
  }
  std::vector<std::uint32_t> known;
  for (std::uint32_t feature = 0; feature < features; ++feature)
    if (counts[feature] > 0) known.push_back(feature);
  std::ranges::stable_sort(known, {}, [&](auto feature) { return counts[feature]; });
  if (known.empty()) return {};
  const auto rare = std::span(known).first((known.size() + 9) / 10);
  const auto mean = [&](auto feature) { return labels[feature] / static_cast<double>(counts[feature]); };
  const auto promoted = *std::ranges::min_element(rare, {}, mean);
  return {.by_examples = std::move(known), .promoted = promoted};
}

honest_statistics::honest_statistics(models::layout_ptr up)
    : up_(std::move(up)), weighted_(up_->size()), sum_(up_->size()), squares_(up_->size()) {}

void honest_statistics::add(const federated::client_update& update) {
  if (update.weight == 0) return;
  const double weight = update.weight;
  weight_ += weight;
  count_ += 1.0;
  for (std::size_t t = 0; t < up_->count(); ++t)
    federated::for_each_run(*up_, t, update.change, [&](std::size_t at, std::span<const float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        weighted_[at + i] += weight * value;
        sum_[at + i] += value;
        squares_[at + i] += value * value;
      }
    });
}

std::vector<float> honest_statistics::mean() const {
  std::vector<float> out(weighted_.size());
  if (weight_ > 0.0)
    std::ranges::transform(weighted_, out.begin(), [&](double sum) { return static_cast<float>(sum / weight_); });
  return out;
}

std::vector<float> honest_statistics::deviation() const {
  std::vector<float> out(sum_.size());
  for (std::size_t i = 0; count_ > 0.0 && i < out.size(); ++i) {
    const double mean = sum_[i] / count_;
    out[i] = static_cast<float>(std::sqrt(std::max(0.0, squares_[i] / count_ - mean * mean)));
  }
  return out;
}

std::uint32_t largest_weight(const federated::experiment& e, const federated::update_bounds& bounds) {
  auto weight = static_cast<double>(bounds.most_weight);
  const auto& rule = *e.settings.aggregation;
  if (federated::weighs_examples(rule, e.groups)) weight = std::min(weight, static_cast<double>(rule.max_weight));
  constexpr double whole = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min({weight, most(bounds.limits.weight), whole}));
}

models::delta bad_change(const federated::experiment& e, const attack_variant& how, const target_features& targets,
                         const std::optional<honest_statistics>& honest, std::span<const float> taste,
                         const federated::update_bounds& bounds) {
  const auto& up = *e.parts.up;
  models::delta made{e.parts.up, {}, {}, std::vector<float>(up.size())};
  for (std::size_t t = 0; t < up.count(); ++t) made.pieces.push_back({.value_begin = up.offset(t)});
  auto& values = made.values;
  switch (how.how) {
    case attack::none: break;
    case attack::minus_mean:
    case attack::minus_sd:
      values = honest->mean();
      if (how.how == attack::minus_mean) {
        scale(values, -1.0);
      } else {
        const auto deviation = honest->deviation();
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] -= static_cast<float>(how.deviations * static_cast<double>(deviation[i]));
      }
      break;
    case attack::one_row: {
      const auto last = static_cast<double>(targets.by_examples.size() - 1);
      fill_row(e, targets.by_examples[static_cast<std::size_t>(how.popularity * last)], values);
      break;
    }
    case attack::direction:
    case attack::early: std::ranges::fill(values, 1.0F); break;
    case attack::promotion:
      promote(up, targets.promoted, how.bias_only ? std::span<const float>() : taste, values);
      break;
  }
  stretch(e, values, bounds);
  return made;
}

}  // namespace furlong::campaigns
