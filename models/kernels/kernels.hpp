// The inner loops, compiled once per level of instructions and chosen when the program starts. Plain C-like signatures:
// a kernel unit must not instantiate templates that other units share, or the linker would merge code for one level
// into another. Unless stated otherwise, pointers are non-null, outputs overlap nothing, and no alignment is assumed.
// Kernels are pure and thread-safe; multiply() keeps memory per thread to pack an operand. Results may differ in the
// last bits between levels, but for the same shapes never between runs, threads, processors or compilers of one level:
// the source fixes the order of sums and what is fused. The level "portable" fuses nothing and is the same on all
// processors of IEEE 754 arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace furlong::models {

struct row_marks;

/// The loss of an example of matrix factorization with the score s.
enum class mf_loss : std::uint8_t {
  squared,   ///< (label - s)^2
  logistic,  ///< log(1 + e^s) - label s, with labels 0 and 1
  pairs,     ///< an example names two items, which of its user: log(1 + e^(s of the second - s of the first))
};

/// A batch of examples for matrix factorization, in local rows. Null pointers: the term is absent.
struct mf_batch {
  const float* user;       ///< rows of rank floats
  const float* user_bias;  ///< one per user row, or null
  const float* item;       ///< rows of rank floats
  const float* item_bias;  ///< one per item row, or null
  const float* mean;       ///< one, or null
  std::uint32_t rank;
  const std::uint32_t* features;  ///< item row of each example, of pairs two
  const std::uint32_t* owners;    ///< user row of each example, or null: row 0
  const float* labels;            ///< of pairs not read
  std::size_t count;
  float l2;                         ///< loss of an example += l2 (|u|^2 + |q|^2); of pairs the |q|^2 of both items
  float l2_bias;                    ///< ... += l2_bias (b_u^2 + b_i^2); of pairs the b_i^2 of both items
  mf_loss loss = mf_loss::squared;  ///< of pairs there are neither user_bias nor mean: they cancel
};

/// Where its gradient is written; a null pointer freezes the tensor. Rows are marked at first touch; user rows are
/// marked only if `mark_users` (a table over clients), otherwise the one row is overwritten.
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

/// c = op(a) op(b), or c += that; all row-major, op(a) m x k, op(b) k x n, c m x n. Strides are in floats between rows
/// of the matrices in memory (before transposition).
struct matrix_product {
  const float* a;
  std::size_t a_stride;
  bool a_transposed;
  const float* b;
  std::size_t b_stride;
  bool b_transposed;
  float* c;
  std::size_t c_stride;
  std::size_t m;
  std::size_t n;
  std::size_t k;
  bool accumulate;
};

/// c = op(a) b, or c += that, with a `b` packed by pack_right(), for a `b` used in many products.
struct packed_product {
  const float* a;  ///< op(a) is m x k
  std::size_t a_stride;
  bool a_transposed;
  const float* packed;  ///< k x n
  float* c;             ///< m x n
  std::size_t c_stride;
  std::size_t m;
  std::size_t n;
  std::size_t k;
  bool accumulate;
};
/// A multiple of the width of every level's panels.
constexpr std::size_t panel_columns = 48;
/// Floats that pack_right() needs for k x n.
constexpr std::size_t packed_floats(std::size_t k, std::size_t n) {
  return (n + panel_columns - 1) / panel_columns * panel_columns * k;
}

/// One time step of a gated recurrent unit over `rows` sequences (models/layers/gru.hpp has the equations). Matrices
/// are dense; those of 3 hidden columns hold r, z and n side by side.
struct gru_step {
  float* gates;                 ///< rows x 3 hidden: forward reads the products of the input here, and writes r, z, n
  const float* recurrent;       ///< rows x 3 hidden: the products of the previous state; not read backward
  const float* bias_input;      ///< 3 hidden: added to those of the input; not read backward
  const float* bias_recurrent;  ///< 3 hidden: added to those of the state; not read backward
  const float* before;          ///< rows x hidden: the previous state
  float* candidate;             ///< rows x hidden: the factor of r, written by forward
  float* after;                 ///< rows x hidden: the new state, written by forward
  std::size_t rows;
  std::size_t hidden;
};
/// Further arguments of its backward pass; `gates` become the gradient of the products of the input.
struct gru_step_gradient {
  const float* after;  ///< rows x hidden
  float* recurrent;    ///< rows x 3 hidden: of the products of the previous state
  float* before;       ///< rows x hidden: added to, the path around gate z; null: not computed
};

/// Logits of `rows` predictions among `classes`, and their targets.
struct softmax_rows {
  float* logits;       ///< rows x classes
  std::size_t stride;  ///< floats from one row to the next
  std::size_t rows;
  std::size_t classes;
  const float* bias;             ///< `classes`, added to each row first; null: none
  const std::uint32_t* targets;  ///< `rows`, each below `classes`
};

/// One time step of long short-term memory over `rows` sequences (models/layers/lstm.hpp has the equations). Matrices
/// are dense; `gates` holds i, f, g and o side by side.
struct lstm_step {
  float* gates;         ///< rows x 4 hidden: forward reads W x + U h here, and writes i, f, g, o
  const float* bias;    ///< 4 hidden
  const float* before;  ///< rows x hidden: the previous cells
  float* cell;          ///< rows x hidden: the new cells, written by forward
  float* squashed;      ///< rows x hidden: tanh of them, written by forward
  float* after;         ///< rows x hidden: the new state, written by forward; not used backward
  std::size_t rows;
  std::size_t hidden;
};

struct kernel_table {
  const char* level;  ///< "x86-64", "x86-64-v3", "x86-64-v4", or "generic" on other machines

  /// Sum of the losses of the examples with their l2 terms; writes the gradient of the mean.
  double (*mf_gradient_step)(const mf_batch&, mf_gradient&);
  /// The score of one item an example, whatever the loss.
  void (*mf_predict)(const mf_batch&, float* out);
  /// Returns the sum of log(1 + e^odds) - label odds and replaces the odds by its gradient times `scale`. Labels are 0
  /// or 1.
  double (*logistic_gradient)(float* odds, const float* labels, std::size_t n, float scale);

  /// w -= rate * g
  void (*descend)(float* w, const float* g, std::size_t n, float rate);
  /// v = momentum * v + g; w -= rate * v
  void (*descend_momentum)(float* w, float* v, const float* g, std::size_t n, float rate, float momentum);
  /// to = a - b
  void (*subtract)(float* target, const float* a, const float* b, std::size_t n);
  double (*dot)(const float* a, const float* b, std::size_t n);
  /// Sum of squares; not finite if an element is not.
  double (*norm_squared)(const float* v, std::size_t n);

  /// sum += round(v * scale), exact and equal at every level; |v * scale| < 2^51. `scale` has at most 24 significant
  /// bits (a weight times a power of two), so that the product is exact.
  void (*fold_fixed)(std::int64_t* sum, const float* v, std::size_t n, double scale);
  /// The same on a grid 2^48 times finer: coarse holds whole units, fine the rest in units of 2^-48.
  void (*fold_wide)(std::int64_t* coarse, std::int64_t* fine, const float* v, std::size_t n, double scale);
  /// to += from
  void (*add_fixed)(std::int64_t* target, const std::int64_t* source, std::size_t n);
  /// to = from * unit, from set to zero
  void (*drain_fixed)(float* target, std::int64_t* source, std::size_t n, double unit);
  /// to = (coarse + fine 2^-48) * unit, both set to zero
  void (*drain_wide)(float* target, std::int64_t* coarse, std::int64_t* fine, std::size_t n, double unit);

  /// Allocates only if this thread has not packed as much before (twice a transposed b with fewer columns than a has
  /// rows, of others twice 48 columns, of 1,536 terms at most), or if m or n is 1 and the vectors are longer than
  /// 32,768.
  void (*multiply)(const matrix_product&);
  /// Packs op(b), k x n, for multiply_packed() of the same level.
  void (*pack_right)(const float* b, std::size_t b_stride, bool b_transposed, std::size_t k, std::size_t n,
                     float* packed);
  void (*multiply_packed)(const packed_product&);
  /// to += each row of `source`, rows x cols
  void (*add_rows)(float* target, const float* source, std::size_t rows, std::size_t cols);

  void (*gru_forward)(const gru_step&);
  void (*gru_backward)(const gru_step&, const gru_step_gradient&);

  /// Returns the sum of -log softmax(logits + bias)[target] and replaces the logits by its gradient times `scale`,
  /// whose sum over the rows is added to bias_gradient unless that is null.
  double (*softmax_gradient)(const softmax_rows&, float scale, float* bias_gradient);
  /// Returns the same sum and writes each row's most likely class, the first of equal ones. Overwrites the logits.
  double (*softmax_score)(const softmax_rows&, std::uint32_t* likeliest);

  void (*lstm_forward)(const lstm_step&);
  /// From d_after = dL/dh' and d_cell = dL/dc', both rows x hidden: gates become the gradient of W x + U h + b, and
  /// d_cell that of the previous cells.
  void (*lstm_backward)(const lstm_step&, const float* d_after, float* d_cell);

  /// Solves (X'X + ridge I) w = X'y; X is n x p row-major. False if the matrix is not positive definite.
  bool (*ridge_solve)(const float* x, const float* y, std::size_t n, std::size_t p, float ridge, float* w);
};

/// The table in use: the highest level that the processor supports, or the one in the environment variable
/// FURLONG_KERNEL_LEVEL, until use_kernels(). Throws std::runtime_error if that level is unknown or not supported.
[[nodiscard]] const kernel_table& kernels();

}  // namespace furlong::models
