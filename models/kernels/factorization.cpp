// Matrix factorization of one level (see level.cpp): its scores, and the gradients of its losses.
#include <cstddef>
#include <cstdint>

#include "base/exact_math.hpp"
#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"
#include "models/model.hpp"

namespace furlong::models::FURLONG_LEVEL {

namespace {

/// Examples whose errors are found at a time.
constexpr std::size_t block_size = 64;

inline float dot_f(const float* a, const float* b, std::uint32_t n) {
  pack sum = filled(0.0F);
  std::uint32_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = times_add(load(a + i), load(b + i), sum);
  float rest = 0.0F;
  for (; i < n; ++i) rest = times_add(a[i], b[i], rest);
  return Eigen::internal::predux(sum) + rest;
}

/// to = x * a + y * b, or to += that.
template <bool accumulate>
inline void combine(float* __restrict target, float x, const float* __restrict a, float y, const float* __restrict b,
                    std::uint32_t n) {
#pragma omp simd
  for (std::uint32_t i = 0; i < n; ++i) {
    const float value = x * a[i] + y * b[i];
    target[i] = accumulate ? target[i] + value : value;
  }
}

/// to = x * a, or to += that.
template <bool accumulate>
inline void scale_add(float* target, float x, const float* a, std::uint32_t n) {
  const pack factor = filled(x);
  std::uint32_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const pack before = accumulate ? load(target + i) : filled(0.0F);
    store(target + i, times_add(factor, load(a + i), before));
  }
  for (; i < n; ++i) target[i] = times_add(x, a[i], accumulate ? target[i] : 0.0F);
}

/// to = sum over k of x[k] * (row rows[k] of table), or to += that: each part of `target` stays in a register
/// throughout.
inline void weigh_rows(bool accumulate, float* target, const float* x, const std::uint32_t* rows, std::size_t count,
                       const float* table, std::uint32_t n) {
  std::uint32_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    pack sum = accumulate ? load(target + i) : filled(0.0F);
    for (std::size_t k = 0; k < count; ++k)
      sum = times_add(filled(x[k]), load(table + std::size_t{rows[k]} * n + i), sum);
    store(target + i, sum);
  }
  for (; i < n; ++i) {
    float sum = accumulate ? target[i] : 0.0F;
    for (std::size_t k = 0; k < count; ++k) sum = times_add(x[k], table[std::size_t{rows[k]} * n + i], sum);
    target[i] = sum;
  }
}

/// True the first time that this batch touches the row.
inline bool mark(row_marks& marks, std::uint32_t row) {
  if (marks.stamp[row] == marks.now) return false;
  marks.stamp[row] = marks.now;
  marks.touched[marks.count++] = row;
  return true;
}

/// gradient row of an embedding: error * other + decay * own
inline void embedding_row(bool first, float* target, float error, const float* partner, float decay, const float* own,
                          std::uint32_t rank) {
  if (decay == 0.0F)
    first ? scale_add<false>(target, error, partner, rank) : scale_add<true>(target, error, partner, rank);
  else
    first ? combine<false>(target, error, partner, decay, own, rank)
          : combine<true>(target, error, partner, decay, own, rank);
}

inline void bias_row(bool first, float* target, float error, float decay, float own) {
  const float value = error + decay * own;
  *target = first ? value : *target + value;
}

inline float mf_score(const mf_batch& b, std::uint32_t owner, std::uint32_t row) {
  float score = dot_f(b.user + std::size_t{owner} * b.rank, b.item + std::size_t{row} * b.rank, b.rank);
  if (b.user_bias != nullptr) score += b.user_bias[owner];
  if (b.item_bias != nullptr) score += b.item_bias[row];
  if (b.mean != nullptr) score += *b.mean;
  return score;
}

/// The l2 terms of one example.
inline double mf_penalty(const mf_batch& b, const float* u, const float* q, std::uint32_t owner, std::uint32_t row) {
  double squares = 0.0;
  if (b.user_bias != nullptr) squares += b.user_bias[owner] * b.user_bias[owner];
  if (b.item_bias != nullptr) squares += b.item_bias[row] * b.item_bias[row];
  return b.l2 * (dot_f(u, u, b.rank) + dot_f(q, q, b.rank)) + b.l2_bias * squares;
}

inline std::uint32_t owner_of(const mf_batch& b, std::size_t i) { return b.owners == nullptr ? 0 : b.owners[i]; }

/// Odds become (sigmoid(odds) - label) scale; without labels all are 1. Returns the sum of log(1 + e^odds) - label
/// odds, with one logarithm: of the product of all 1 + e^-|odds|, which are at most 2. n is at most block_size.
double logistic_errors(float* odds, const float* labels, std::size_t n, float scale) {
  float small[block_size];
  double loss = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double z = static_cast<double>(odds[i]);
    loss += (z > 0.0 ? z : 0.0) - (labels == nullptr ? 1.0 : static_cast<double>(labels[i])) * z;
  }
  each_pack(n, [&](std::size_t i, const auto& place) {
    const pack z = place.read(odds + i);
    const pack label = labels == nullptr ? filled(1.0F) : place.read(labels + i);
    place.write(small + i, exponential(Eigen::internal::pnegate(Eigen::internal::pabs(z))));
    place.write(odds + i, times(subtract(sigmoid(z), label), filled(scale)));
  });
  double product[4] = {1.0, 1.0, 1.0, 1.0};
  for (std::size_t i = 0; i < n; ++i) product[i % 4] *= 1.0 + static_cast<double>(small[i]);
  return loss + exact::log((product[0] * product[1]) * (product[2] * product[3]));
}

struct mf_decay {
  float vectors;
  float biases;
};

/// Writes the errors of examples first, ..., first + count - 1, the slopes of the mean loss in their scores, and adds
/// their losses to `loss`.
void find_errors(const mf_batch& b, std::size_t first, std::size_t count, float* errors, double& loss) {
  const float per_example = 1.0F / static_cast<float>(b.count);
  const bool squared = b.loss == mf_loss::squared;
  const bool penalized = b.l2 != 0.0F || b.l2_bias != 0.0F;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t row = b.features[first + k];
    const std::uint32_t owner = owner_of(b, first + k);
    errors[k] = mf_score(b, owner, row);
    if (squared) {
      const float residual = b.labels[first + k] - errors[k];
      loss += static_cast<double>(residual) * residual;
      errors[k] = -2.0F * residual * per_example;
    }
    if (penalized)
      loss += mf_penalty(b, b.user + std::size_t{owner} * b.rank, b.item + std::size_t{row} * b.rank, owner, row);
  }
  if (!squared) loss += logistic_errors(errors, b.labels + first, count, per_example);
}

/// Adds to the gradient what follows from the errors of these examples.
void add_gradient(const mf_batch& b, mf_gradient& g, std::size_t first, std::size_t count, const float* errors,
                  mf_decay decay) {
  const bool rows = g.item != nullptr || g.item_bias != nullptr;
  // One user's vector alone, as in reconstruction: it stays in registers.
  const bool at_once = g.user != nullptr && !g.mark_users && b.owners == nullptr && decay.vectors == 0.0F;
  if (at_once) weigh_rows(first > 0, g.user, errors, b.features + first, count, b.item, b.rank);
  if (at_once && g.user_bias == nullptr && !rows) return;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t row = b.features[first + k];
    const std::uint32_t owner = owner_of(b, first + k);
    const float* u = b.user + std::size_t{owner} * b.rank;
    const float* q = b.item + std::size_t{row} * b.rank;
    const bool first_user = g.mark_users ? mark(*g.users, owner) : first + k == 0;
    if (g.user != nullptr && !at_once)
      embedding_row(first_user, g.user + std::size_t{owner} * b.rank, errors[k], q, decay.vectors, u, b.rank);
    if (g.user_bias != nullptr) bias_row(first_user, g.user_bias + owner, errors[k], decay.biases, b.user_bias[owner]);
    if (!rows) continue;
    const bool first_item = mark(*g.items, row);
    if (g.item != nullptr)
      embedding_row(first_item, g.item + std::size_t{row} * b.rank, errors[k], u, decay.vectors, q, b.rank);
    if (g.item_bias != nullptr) bias_row(first_item, g.item_bias + row, errors[k], decay.biases, b.item_bias[row]);
  }
}

/// The l2 terms of a pair: those of the user once, of its items each.
double pair_penalty(const mf_batch& b, const float* u, const float* above, const float* below, const float* biases) {
  const float squares = dot_f(u, u, b.rank) + dot_f(above, above, b.rank) + dot_f(below, below, b.rank);
  return b.l2 * squares + b.l2_bias * (biases[0] * biases[0] + biases[1] * biases[1]);
}

/// Writes the errors of pairs, as find_errors() does: of the first item's score; the second's are the negative.
void find_pair_errors(const mf_batch& b, std::size_t first, std::size_t count, float* errors, double& loss) {
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t* rows = b.features + 2 * (first + k);
    const std::uint32_t owner = owner_of(b, first + k);
    errors[k] = mf_score(b, owner, rows[0]) - mf_score(b, owner, rows[1]);
    if (b.l2 == 0.0F && b.l2_bias == 0.0F) continue;
    const bool biased = b.item_bias != nullptr;
    const float biases[2] = {biased ? b.item_bias[rows[0]] : 0.0F, biased ? b.item_bias[rows[1]] : 0.0F};
    loss += pair_penalty(b, b.user + std::size_t{owner} * b.rank, b.item + std::size_t{rows[0]} * b.rank,
                         b.item + std::size_t{rows[1]} * b.rank, biases);
  }
  loss += logistic_errors(errors, nullptr, count, 1.0F / static_cast<float>(b.count));
}

void add_pair_gradient(const mf_batch& b, mf_gradient& g, std::size_t first, std::size_t count, const float* errors,
                       mf_decay decay) {
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t owner = owner_of(b, first + k);
    const float* u = b.user + std::size_t{owner} * b.rank;
    const bool first_user = g.mark_users ? mark(*g.users, owner) : first + k == 0;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::uint32_t row = b.features[2 * (first + k) + side];
      const float* q = b.item + std::size_t{row} * b.rank;
      const float error = side == 0 ? errors[k] : -errors[k];
      if (g.user != nullptr)
        embedding_row(first_user && side == 0, g.user + std::size_t{owner} * b.rank, error, q,
                      side == 0 ? decay.vectors : 0.0F, u, b.rank);
      if (g.item == nullptr && g.item_bias == nullptr) continue;
      const bool first_item = mark(*g.items, row);
      if (g.item != nullptr)
        embedding_row(first_item, g.item + std::size_t{row} * b.rank, error, u, decay.vectors, q, b.rank);
      if (g.item_bias != nullptr) bias_row(first_item, g.item_bias + row, error, decay.biases, b.item_bias[row]);
    }
  }
}

}  // namespace

double mf_gradient_step(const mf_batch& b, mf_gradient& g) {
  const bool pairs = b.loss == mf_loss::pairs;
  const float per_example = 1.0F / static_cast<float>(b.count);
  const mf_decay decay{2.0F * b.l2 * per_example, 2.0F * b.l2_bias * per_example};
  float errors[block_size];
  double loss = 0.0;
  float mean_gradient = 0.0F;
  for (std::size_t first = 0; first < b.count; first += block_size) {
    const std::size_t count = b.count - first < block_size ? b.count - first : block_size;
    pairs ? find_pair_errors(b, first, count, errors, loss) : find_errors(b, first, count, errors, loss);
    pairs ? add_pair_gradient(b, g, first, count, errors, decay) : add_gradient(b, g, first, count, errors, decay);
    for (std::size_t k = 0; k < count; ++k) mean_gradient += errors[k];
  }
  if (g.mean != nullptr) *g.mean = mean_gradient;
  return loss;
}

void mf_predict(const mf_batch& b, float* out) {
  for (std::size_t i = 0; i < b.count; ++i) out[i] = mf_score(b, b.owners == nullptr ? 0 : b.owners[i], b.features[i]);
}

double logistic_gradient(float* odds, const float* labels, std::size_t n, float scale) {
  double loss = 0.0;
  for (std::size_t first = 0; first < n; first += block_size)
    loss += logistic_errors(odds + first, labels + first, n - first < block_size ? n - first : block_size, scale);
  return loss;
}

}  // namespace furlong::models::FURLONG_LEVEL
