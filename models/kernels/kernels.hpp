// The inner loops, compiled once per x86-64 level and chosen when the program starts.
//
// Plain C-like signatures: a kernel unit must not instantiate templates that other units share, or the linker would
// merge code for one level into another. All pointers are non-null and do not overlap unless said; no alignment is
// assumed. Kernels are pure and thread-safe. Results may differ in the last bits between levels, never between runs or
// threads of one level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace furlong::models {

struct row_marks;

/// A batch of one-feature examples for matrix factorization, in local rows. Null pointers: the term is absent.
struct mf_batch {
  const float* user;       ///< rows of rank floats
  const float* user_bias;  ///< one per user row, or null
  const float* item;       ///< rows of rank floats
  const float* item_bias;  ///< one per item row, or null
  const float* mean;       ///< one, or null
  std::uint32_t rank;
  const std::uint32_t* features;  ///< item row of each example
  const std::uint32_t* owners;    ///< user row of each example, or null: row 0
  const float* labels;
  std::size_t count;
  float l2;       ///< loss of an example += l2 (|u|^2 + |q|^2)
  float l2_bias;  ///< ... += l2_bias (b_u^2 + b_i^2)
};

/// Where its gradient goes; a null pointer freezes the tensor. Rows are marked at first touch; the user's rows are
/// marked only when `mark_users` (a table over clients), else the one row is overwritten.
struct mf_gradient {
  float* user;
  float* user_bias;
  float* item;
  float* item_bias;
  float* mean;
  row_marks* items;
  row_marks* users;
  bool mark_users;
};

struct kernel_table {
  const char* level;  ///< "x86-64", "x86-64-v3", "x86-64-v4", or "generic" on other machines

  /// Sum over i of (y_i - yhat_i)^2 + l2 terms; writes the gradient of the mean.
  double (*mf_gradient_step)(const mf_batch&, mf_gradient&);
  void (*mf_predict)(const mf_batch&, float* out);

  /// w -= rate * g
  void (*descend)(float* w, const float* g, std::size_t n, float rate);
  /// v = momentum * v + g; w -= rate * v
  void (*descend_momentum)(float* w, float* v, const float* g, std::size_t n, float rate, float momentum);
  /// to = a - b
  void (*subtract)(float* to, const float* a, const float* b, std::size_t n);
  double (*dot)(const float* a, const float* b, std::size_t n);
  /// Sum of squares; not finite when an element is not.
  double (*norm_squared)(const float* v, std::size_t n);

  /// sum += round(v * scale), exactly and alike at every level; |v * scale| < 2^51. `scale` has at most 24 significant
  /// bits (a weight times a power of two), so that the product is exact.
  void (*fold_fixed)(std::int64_t* sum, const float* v, std::size_t n, double scale);
  /// The same on a grid 2^48 times finer: coarse holds whole units, fine the rest in units of 2^-48.
  void (*fold_wide)(std::int64_t* coarse, std::int64_t* fine, const float* v, std::size_t n, double scale);
  /// to += from
  void (*add_fixed)(std::int64_t* to, const std::int64_t* from, std::size_t n);
  /// to = from * unit, from set to zero
  void (*drain_fixed)(float* to, std::int64_t* from, std::size_t n, double unit);

  /// Solves (X'X + ridge I) w = X'y; X is n x p row-major. False when the matrix is not positive definite.
  bool (*ridge_solve)(const float* x, const float* y, std::size_t n, std::size_t p, float ridge, float* w);
};

/// The table in use: the best level that the processor has, or the one that the environment variable
/// FURLONG_KERNEL_LEVEL pins. Throws std::runtime_error when that names a level that is unknown or not supported here.
[[nodiscard]] const kernel_table& kernels();

}  // namespace furlong::models
