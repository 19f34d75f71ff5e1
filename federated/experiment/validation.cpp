#include "federated/experiment/validation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/negatives.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/settings.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

/// Per example; far above the loss of any useful model.
constexpr double most_loss = 0x1p40;

/// True if a row is listed twice: its values would be added twice, beyond the norm bound.
bool repeats(std::span<const std::uint32_t> rows, std::uint32_t row_count) {
  thread_local std::vector<bool> seen;
  if (seen.size() < row_count) seen.resize(row_count, false);
  std::size_t listed = 0;
  while (listed < rows.size() && !seen[rows[listed]]) seen[rows[listed++]] = true;
  for (std::size_t i = 0; i < listed; ++i) seen[rows[i]] = false;
  return listed < rows.size();
}

bool has_shape(const models::delta& change, const models::layout& shared) {
  if (!change.shape || !(change.shape.get() == &shared || *change.shape == shared)) return false;
  if (change.pieces.size() != shared.count()) return false;
  for (std::size_t t = 0; t < shared.count(); ++t) {
    const auto& piece = change.pieces[t];
    const std::size_t size = piece.by_rows ? std::size_t{piece.row_count} * shared[t].cols : shared[t].size();
    if (piece.value_begin > change.values.size() || size > change.values.size() - piece.value_begin) return false;
    if (!piece.by_rows) continue;
    if (piece.row_begin > change.rows.size() || piece.row_count > change.rows.size() - piece.row_begin) return false;
    const auto rows = change.rows_of(t);
    if (std::ranges::any_of(rows, [&](auto row) { return row >= shared[t].rows; })) return false;
    const bool as_before = t > 0 && change.pieces[t - 1].by_rows && change.pieces[t - 1].row_begin == piece.row_begin &&
                           change.pieces[t - 1].row_count == piece.row_count;
    if (!as_before && repeats(rows, shared[t].rows)) return false;
  }
  return true;
}

/// The squared norm of a few values: a kernel call takes longer. Four sums, since each addition waits for the one
/// before.
double norm_squared_of_few(std::span<const float> values) {
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= values.size(); i += sums.size())
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += static_cast<double>(values[i + j]) * values[i + j];
  for (std::size_t j = 0; i < values.size(); ++i, ++j) sums[j] += static_cast<double>(values[i]) * values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double norm_squared_of(std::span<const float> row) {
  constexpr std::size_t narrow = 16;
  return row.size() < narrow ? norm_squared_of_few(row) : models::kernels().norm_squared(row.data(), row.size());
}

/// The squared norm of a tensor's values. For a tensor with rows for features or clients, also raises `longest_row` to
/// the largest squared norm of a row. Rows of zeros, which only dense updates have, change nothing.
double squared_norm(std::span<const float> values, const models::tensor_spec& spec, double& longest_row) {
  if (spec.index == models::row_index::none) return models::kernels().norm_squared(values.data(), values.size());
  double sum = 0.0;
  for (std::size_t at = 0; at < values.size(); at += spec.cols) {
    const auto squared = norm_squared_of(values.subspan(at, spec.cols));
    sum += squared;
    longest_row = std::max(longest_row, squared);
  }
  return sum;
}

/// Scales values of this squared norm to a length.
void shorten(std::span<float> values, double squared, double most) {
  if (!(squared > most * most)) return;
  const auto factor = static_cast<float>(most / std::sqrt(squared));
  for (auto& value : values) value *= factor;
}

/// The norm bound of one tensor of an update.
double max_norm(std::size_t tensor, const aggregation_settings& settings, std::span<const placed_group> groups) {
  for (const auto& one : groups)
    if (one.in_up != placed_group::nowhere && tensor >= one.in_up && tensor < one.in_up + one.count())
      return one.max_norm;
  return settings.max_norm;
}

}  // namespace

bool weighs_examples(const aggregation_settings& settings, std::span<const placed_group> groups) {
  return settings.rule.traits.weighs_examples || std::ranges::any_of(groups, [](const placed_group& one) {
           return one.in_up != placed_group::nowhere && one.rule == sum_rule::mean;
         });
}

double longest_update(const run_settings& settings) {
  const auto& rule = *settings.aggregation;
  const bool noisy = rule.noise > 0 && rule.noise_at == noise_place::client;
  if (settings.privacy->clip <= 0 || noisy) return std::numeric_limits<double>::infinity();
  return longest_clipped(settings.privacy->clip);
}

double longest_clipped(double bound) {
  // The client rounds the factor and each product to float32, 2^-24 each, and the sums of squares to double.
  constexpr double slack = 0x1p-20;
  return bound * (1.0 + slack);
}

update_bounds bounds_of(const experiment& e, double longest, const update_limits& limits,
                        std::optional<std::uint64_t> examples) {
  update_bounds bounds{.longest = longest, .limits = limits, .groups = e.groups};
  if (examples) bounds.most_weight = most_weight(e, *examples);
  return bounds;
}

std::optional<rejection> validate(const client_update& update, const models::layout& up,
                                  const aggregation_settings& settings, const update_bounds& bounds,
                                  update_size* size) {
  if (!has_shape(update.change, up)) return rejection::wrong_shape;
  if (weighs_examples(settings, bounds.groups) && update.weight > settings.max_weight) return rejection::weight_bound;
  if (update.examples > most_examples || update.weight > bounds.most_weight) return rejection::weight_bound;
  if (!std::isfinite(update.loss_sum) || std::abs(update.loss_sum) > most_loss * update.weight)
    return rejection::not_finite;
  double whole = 0.0;  // by tensor: values of the update outside of tensors are not aggregated
  double longest_row = 0.0;
  for (std::size_t t = 0; t < up.count(); ++t) {
    const auto values = update.change.values_of(t);
    const double squared = squared_norm(values, up[t], longest_row);
    const double most = max_norm(t, settings, bounds.groups);
    if (!std::isfinite(squared)) return rejection::not_finite;
    if (squared > most * most) return rejection::norm_bound;
    whole += squared;
  }
  if (std::sqrt(whole) > bounds.longest) return rejection::norm_bound;
  if (update.weight == 0) return std::nullopt;  // it adds nothing
  const double weight = update.weight;
  // A zero delta carries no information about other sizes.
  const auto level = [](double squared) { return squared > 0.0 ? level_of_square(squared) : size_level{0}; };
  const update_size found{level(whole), level(longest_row), level(weight * weight)};
  if (size != nullptr) *size = found;
  if (bounds.limits.norm != 0 && found.norm > bounds.limits.norm) return rejection::norm_bound;
  if (bounds.limits.row != 0 && found.row > bounds.limits.row) return rejection::norm_bound;
  if (bounds.limits.weight != 0 && found.weight > bounds.limits.weight) return rejection::weight_bound;
  return std::nullopt;
}

void clip_to(const update_limits& limits, bool rounded, models::delta& change) {
  // The factor and each product are rounded to float32, 2^-24 each. Numbers of one byte are off by a 127th of the
  // largest of those that share a scale (quantization.hpp), a row by less than a level in all.
  constexpr double slack = 1.0 - 0x1p-20;
  const auto most = [&](size_level limit) {
    return slack * top_of(rounded && limit > 1 ? static_cast<size_level>(limit - 1) : limit);
  };
  const auto& layout = *change.shape;
  double whole = 0.0;
  double ignored = 0.0;
  for (std::size_t t = 0; t < layout.count(); ++t) {
    const auto values = change.values_of(t);
    const std::size_t cols = layout[t].cols;
    if (limits.row != 0 && layout[t].index != models::row_index::none)
      for (std::size_t at = 0; at < values.size(); at += cols)
        shorten(values.subspan(at, cols), norm_squared_of(values.subspan(at, cols)), most(limits.row));
    whole += squared_norm(values, layout[t], ignored);
  }
  if (limits.norm != 0) shorten(change.values, whole, most(limits.norm));
}

constexpr double least_rounded = -1e-3;  ///< of a squared error or a loss of one example

std::optional<std::string> implausible(const client_score& score) {
  if (score.examples > most_examples)
    return std::to_string(score.examples) + " examples, and no client has more than " + std::to_string(most_examples);
  const auto n = static_cast<double>(score.examples);
  // Predictions and labels are float32, so a squared error is below 2^258; sums of these over all that there can be are
  // finite. Rounded to float32, 0 can become a little less. A loss below 0 is possible where the model defines it.
  constexpr double most = 0x1p258;
  const auto is_possible = [&](double sum, double least) {
    return !std::isfinite(sum) || (sum >= least * n && sum <= most * n);
  };
  if (!is_possible(score.squared_error, least_rounded) || !is_possible(score.loss, -most))
    return "errors that " + std::to_string(score.examples) + " examples cannot add up to";
  const bool alone = score.examples <= 1;  // differs from no other
  if (!is_possible(score.spread, 0.0) || (alone && std::isfinite(score.spread) && score.spread > 0.0))
    return "labels that " + std::to_string(score.examples) + " examples cannot have";
  if (std::ranges::any_of(score.metrics, [](const auto& of) { return !(of.count >= 0.0 && std::isfinite(of.count)); }))
    return "a metric whose count is negative or not finite";
  if (score.odds.size() > score.examples)
    return std::to_string(score.odds.size()) + " predictions of " + std::to_string(score.examples) + " examples";
  return std::nullopt;
}

namespace {

/// @param score with no metrics or as many as the model has
std::optional<std::string> implausible_ranking(const client_score& score, const models::model& model) {
  for (std::size_t m = 0; m < score.metrics.size(); ++m) {
    const auto& [sum, count] = score.metrics[m];
    if (!(sum >= 0.0 && sum <= count * (1.0 + 1e-9))) return "a figure of a ranking that is not from 0 to 1";
    const bool counts_items = model.metrics()[m].smaller_is_better;  // exposure; all others count the client
    if (count > 1.0 && !counts_items) return "a figure of a ranking that counts for more than one client";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> implausible(const client_score& score, const models::model& of) {
  if (auto why = implausible(score)) return why;
  if (of.objective() != models::objective::custom && score.loss < least_rounded * static_cast<double>(score.examples))
    return "a loss below 0";
  if (!score.metrics.empty() && score.metrics.size() != of.metrics().size())
    return std::to_string(score.metrics.size()) + " metrics, expected " + std::to_string(of.metrics().size());
  if (of.objective() == models::objective::ranking)
    if (auto why = implausible_ranking(score, of)) return why;
  if (of.objective() != models::objective::squared_error && score.spread != 0.0)
    return "ratings, and the model predicts none";
  const auto wanted = of.objective() == models::objective::logistic ? score.examples : std::uint64_t{0};
  if (score.odds.size() == wanted) return std::nullopt;
  return std::to_string(score.odds.size()) + " predictions are listed, expected " + std::to_string(wanted);
}

}  // namespace furlong::federated
