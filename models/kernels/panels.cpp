// Products of matrices by register tiles (after Goto and van de Geijn 2008, BLIS). The right operand is split into
// panels of as many columns as a tile has. A panel whose rows are whole vectors is read in place; a transposed one, or
// the narrow last one, is packed first: its rows contiguous, padded with zeros. As many rows of the left operand as
// there are registers for their sums are multiplied with a panel at once.
#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"

namespace furlong::models::FURLONG_LEVEL {

namespace {

constexpr bool many_registers = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32;
constexpr std::size_t most_vectors = many_registers ? 3 : 2;
constexpr std::size_t most_rows = many_registers ? 8 : 6;
constexpr std::size_t width = most_vectors * lanes;
static_assert(panel_columns % width == 0, "packed_floats() leaves room for whole panels");

/// A longer sum is split, so that data shared by two panels stays in the cache; a shorter one is not, to write c once.
constexpr std::size_t most_uncut = 1536;
constexpr std::size_t most_terms = 512;
/// Rows of the left operand that stay in the cache for several panels.
constexpr std::size_t block_rows = 6 * most_rows;
constexpr std::size_t line = 16;  ///< floats in a line of the cache

constexpr std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
constexpr std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// Of n columns, those in the panel that begins there.
std::size_t columns(std::size_t n, std::size_t begin) { return least(n - begin, width); }

/// Element (row, col) at data[row * stride + col], or if transposed at data[col * stride + row].
struct operand {
  const float* data;
  std::size_t stride;
  bool transposed;
  const float* element(std::size_t row, std::size_t col) const {
    return data + (transposed ? col * stride + row : row * stride + col);
  }
  operand part(std::size_t row, std::size_t col) const { return {element(row, col), stride, transposed}; }
};
/// A panel whose rows are `step` floats apart and can be read in whole vectors.
struct panel_view {
  const float* data;
  std::size_t step;
};
struct target {
  float* data;
  std::size_t stride;
  bool accumulate;
};
/// Data to prefetch: a tile fetches a line for each term of its sum, `step` floats apart, the next tile those
/// `tile_step` floats further. May be past the end of the operand: it is only a hint.
struct upcoming {
  const float* data;
  std::size_t step;
  std::size_t tile_step;
};

/// rows x k times k x cols, with cols in that many vectors.
template <std::size_t rows, std::size_t vectors, bool transposed>
void multiply_tile(const operand& left, panel_view panel, const target& output, std::size_t cols, std::size_t k,
                   const upcoming& next) {
  constexpr std::size_t bases = transposed ? 1 : (rows + 2) / 3;  // one address for three rows, or registers run out
  const float* a[bases];
  for (std::size_t i = 0; i < bases; ++i) a[i] = left.data + 3 * i * left.stride;
  pack sums[rows][vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = filled(0.0F);
  for (std::size_t row = 0; row < rows; ++row)  // prefetch what is written at the end
    for (std::size_t j = 0; j < vectors; ++j) __builtin_prefetch(output.data + row * output.stride + j * lanes, 1);
  const float* ahead = next.data;
  for (std::size_t l = 0; l < k; ++l, panel.data += panel.step, ahead += next.step) {
    __builtin_prefetch(ahead);
    pack right[vectors];
    for (std::size_t j = 0; j < vectors; ++j) right[j] = load(panel.data + j * lanes);
    for (std::size_t row = 0; row < rows; ++row) {
      const pack factor = filled(transposed ? a[0][row] : a[row / 3][row % 3 * left.stride]);
      for (std::size_t j = 0; j < vectors; ++j) sums[row][j] = times_add(factor, right[j], sums[row][j]);
    }
    for (auto& base : a) base += transposed ? left.stride : 1;
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t j = 0; j < vectors; ++j) {
      float* c = output.data + row * output.stride + j * lanes;
      const auto put = [&](const auto& access) {
        access.write(c, output.accumulate ? add(access.read(c), sums[row][j]) : sums[row][j]);
      };
      if (cols >= (j + 1) * lanes)
        put(whole());
      else
        put(part{cols - j * lanes});
    }
}

/// By reference: a copy of recently written data would stall until the previous tile is in the cache.
using tile_product = void (*)(const operand&, panel_view, const target&, std::size_t, std::size_t, const upcoming&);

template <std::size_t vectors, bool transposed>
constexpr tile_product tile_of(std::size_t rows) {
  switch (rows) {
    case 1: return multiply_tile<1, vectors, transposed>;
    case 2: return multiply_tile<2, vectors, transposed>;
    case 3: return multiply_tile<3, vectors, transposed>;
    case 4: return multiply_tile<4, vectors, transposed>;
    case 5: return multiply_tile<5, vectors, transposed>;
    case 6: return multiply_tile<6, vectors, transposed>;
    case 7: return multiply_tile<least(7, most_rows), vectors, transposed>;
    default: return multiply_tile<most_rows, vectors, transposed>;
  }
}

tile_product tile_of(std::size_t rows, std::size_t vectors, bool transposed) {
  if (vectors == 1) return transposed ? tile_of<1, true>(rows) : tile_of<1, false>(rows);
  if (vectors == 2) return transposed ? tile_of<2, true>(rows) : tile_of<2, false>(rows);
  return transposed ? tile_of<most_vectors, true>(rows) : tile_of<most_vectors, false>(rows);
}

/// m x k times one panel. The rows are divided evenly: ten are five and five.
void multiply_panel(const operand& left, const panel_view& panel, const target& output, std::size_t m, std::size_t cols,
                    std::size_t k, upcoming next) {
  const std::size_t vectors = divide_up(cols, lanes);
  std::size_t row = 0;
  for (std::size_t tiles = divide_up(m, most_rows); tiles > 0; --tiles, next.data += next.tile_step) {
    const std::size_t rows = divide_up(m - row, tiles);
    const auto multiply_rows = tile_of(rows, vectors, left.transposed);
    multiply_rows(left.part(row, 0), panel, {output.data + row * output.stride, output.stride, output.accumulate}, cols,
                  k, next);
    row += rows;
  }
}

/// A vector's worth of rows of b' (columns of b), from `source` on, to the panel: lanes x lanes elements, transposed.
void pack_square(const float* source, std::size_t stride, float* panel) {
  Eigen::internal::PacketBlock<pack, lanes> square;
  for (std::uint32_t j = 0; j < lanes; ++j) square.packet[j] = load(source + j * stride);
  Eigen::internal::ptranspose(square);
  for (std::uint32_t l = 0; l < lanes; ++l) store(panel + l * width, square.packet[l]);
}

/// Of a panel's rows from `row` on, `rows` of them: the columns from `col` on, element by element, and the zeros.
void pack_rows(const operand& right, std::size_t first, std::size_t row, std::size_t rows, std::size_t begin,
               std::size_t col, std::size_t cols, float* panel) {
  for (std::size_t l = row; l < row + rows; ++l) {
    for (std::size_t j = col; j < cols; ++j) panel[l * width + j] = *right.element(first + l, begin + j);
    for (std::size_t j = cols; j < width; ++j) panel[l * width + j] = 0.0F;
  }
}

/// The `cols` columns from `begin` on of k rows from `first` on.
void pack_panel(const operand& right, std::size_t first, std::size_t k, std::size_t begin, std::size_t cols,
                float* panel) {
  const std::size_t squares = right.transposed ? cols / lanes * lanes : 0;  // columns that are transposed by vectors
  std::size_t l = 0;
  for (; l + lanes <= k; l += lanes) {
    for (std::size_t j = 0; j < squares; j += lanes)
      pack_square(right.element(first + l, begin + j), right.stride, panel + l * width + j);
    if (squares < width) pack_rows(right, first, l, lanes, begin, squares, cols, panel);
  }
  pack_rows(right, first, l, k - l, begin, 0, cols, panel);
}

/// Memory of this thread for panels. It only grows, to twice the request, because blocks of a smaller batch may be
/// slightly larger.
class panel_room {
 public:
  panel_room() = default;
  ~panel_room() { Eigen::internal::aligned_free(data_); }
  panel_room(const panel_room&) = delete;
  panel_room& operator=(const panel_room&) = delete;

  float* at_least(std::size_t count) {
    if (size_ >= count) return data_;
    Eigen::internal::aligned_free(data_);
    data_ = nullptr;
    size_ = 0;
    data_ = static_cast<float*>(Eigen::internal::aligned_malloc(2 * count * sizeof(float)));
    size_ = 2 * count;
    return data_;
  }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Rows of c between two uses of the same panel. The larger operand is read once.
std::size_t rows_per_block(std::size_t m, std::size_t n) { return n > m ? m : block_rows; }

/// Packed panels of `terms` rows.
upcoming next_packed(const float* panel, std::size_t terms) { return {panel + width * terms, line, line * terms}; }

/// One part of a product: its terms from `first` on.
class partial_product {
 public:
  partial_product(const matrix_product& product, std::size_t first, std::size_t terms, bool accumulate)
      : product_(product),
        left_{product.a, product.a_stride, product.a_transposed},
        right_{product.b, product.b_stride, product.b_transposed},
        first_(first),
        terms_(terms),
        accumulate_(accumulate),
        block_(rows_per_block(product.m, product.n)),
        keeps_(product.b_transposed && block_ < product.m) {}

  void run() {
    thread_local panel_room room;
    if (product_.b_transposed || product_.n % lanes != 0)
      packed_ = room.at_least((keeps_ ? divide_up(product_.n, width) * width : width) * least(product_.k, most_uncut));
    for (std::size_t row = 0; row < product_.m; row += block_)
      for (std::size_t begin = 0; begin < product_.n; begin += width) multiply_block(row, begin);
  }

 private:
  void multiply_block(std::size_t row, std::size_t begin) {
    const std::size_t cols = columns(product_.n, begin);
    panel_view panel{right_.element(first_, begin), right_.stride};
    if (right_.transposed || cols % lanes != 0) {
      float* packed = packed_ + (keeps_ ? begin * terms_ : 0);
      if (row == 0) pack_panel(right_, first_, terms_, begin, cols, packed);
      panel = {packed, width};
    }
    multiply_panel(left_.part(row, first_), panel,
                   {product_.c + row * product_.c_stride + begin, product_.c_stride, accumulate_},
                   least(block_, product_.m - row), cols, terms_, after(row, begin, panel));
  }

  /// The next panel; or if the left operand is read across its rows, which processors do not prefetch, its next rows.
  upcoming after(std::size_t row, std::size_t begin, const panel_view& panel) const {
    if (left_.transposed) return {left_.element(row + block_rows, first_), left_.stride, most_rows};
    if (keeps_ && row > 0) return next_packed(panel.data, terms_);
    const float* next = right_.element(first_, begin + width);
    if (!right_.transposed) return {next, right_.stride, line};
    if (right_.stride == terms_) return {next, line, line * terms_};  // contiguous
    return {panel.data, 0, 0};
  }

  const matrix_product& product_;
  operand left_;
  operand right_;
  std::size_t first_;
  std::size_t terms_;
  bool accumulate_;
  std::size_t block_;
  bool keeps_;  ///< packed panels are reused for further rows
  float* packed_ = nullptr;
};

}  // namespace

void multiply_in_panels(const matrix_product& product) {
  const std::size_t parts = product.k <= most_uncut ? 1 : divide_up(product.k, most_terms);
  const std::size_t terms = divide_up(product.k, parts);
  bool accumulate = product.accumulate;
  for (std::size_t first = 0; first < product.k; first += terms, accumulate = true)
    partial_product(product, first, least(terms, product.k - first), accumulate).run();
}

void pack_right(const float* b, std::size_t b_stride, bool b_transposed, std::size_t k, std::size_t n, float* packed) {
  for (std::size_t begin = 0; begin < n; begin += width)
    pack_panel({b, b_stride, b_transposed}, 0, k, begin, columns(n, begin), packed + begin * k);
}

void multiply_packed(const packed_product& product) {
  const operand left{product.a, product.a_stride, product.a_transposed};
  const std::size_t block = rows_per_block(product.m, product.n);
  for (std::size_t row = 0; row < product.m; row += block)
    for (std::size_t begin = 0; begin < product.n; begin += width) {
      const float* panel = product.packed + begin * product.k;
      multiply_panel(left.part(row, 0), {panel, width},
                     {product.c + row * product.c_stride + begin, product.c_stride, product.accumulate},
                     least(block, product.m - row), columns(product.n, begin), product.k,
                     next_packed(panel, product.k));
    }
}

void add_rows(float* target, const float* source, std::size_t rows, std::size_t cols) {
  for (std::size_t row = 0; row < rows; ++row, source += cols)
    each_pack(cols, [&](std::size_t i, const auto& access) {
      access.write(target + i, add(access.read(target + i), access.read(source + i)));
    });
}

}  // namespace furlong::models::FURLONG_LEVEL
