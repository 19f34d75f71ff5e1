#include "federated/validation.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

/// Whether a row is listed twice: its values would be added twice, past the norm bound.
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

}  // namespace

double longest_update(const run_settings& settings) {
  const auto& rule = settings.aggregation;
  const bool noisy = rule.noise > 0 && rule.noise_at == noise_place::client;
  if (settings.privacy.clip <= 0 || noisy) return std::numeric_limits<double>::infinity();
  // The client rounds the factor and each product to float32, 2^-24 either time; and the sums of squares to double.
  constexpr double slack = 0x1p-20;
  return settings.privacy.clip * (1.0 + slack);
}

std::optional<rejection> validate(const client_update& update, const models::layout& shared,
                                  const aggregation_settings& bounds, double longest) {
  if (!has_shape(update.change, shared)) return rejection::wrong_shape;
  if (bounds.rule == rule_kind::mean && update.weight > bounds.max_weight) return rejection::weight_bound;
  if (update.examples > most_examples) return rejection::weight_bound;
  if (!std::isfinite(update.loss_sum)) return rejection::not_finite;
  double whole = 0.0;  // by tensors: what the update's values are besides, nobody folds
  for (std::size_t t = 0; t < shared.count(); ++t) {
    const auto values = update.change.values_of(t);
    const double squared = models::kernels().norm_squared(values.data(), values.size());
    if (!std::isfinite(squared)) return rejection::not_finite;
    if (squared > bounds.max_norm * bounds.max_norm) return rejection::norm_bound;
    whole += squared;
  }
  if (std::sqrt(whole) > longest) return rejection::norm_bound;
  return std::nullopt;
}

}  // namespace furlong::federated
