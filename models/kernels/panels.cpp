// Products with a matrix that is packed once: the weights that every time step multiplies by, or a small one. A general
// product packs both operands anew each time, which costs more than ten rows' worth of arithmetic.
//
// The right operand is cut into panels of two vectors' width; a panel's rows lie one after the other, the last panel
// is filled up with zeros. As many rows of the left operand as there are registers for their sums go along a panel at
// once.
#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"

namespace furlong::models::FURLONG_LEVEL {

namespace {

constexpr std::size_t width = std::size_t{2} * lanes;
static_assert(32 % width == 0, "packed_floats() leaves room for panels of at most 32 columns");
constexpr int most_rows = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 12 : 6;

/// Of n columns, those in the panel that begins there.
std::size_t columns(std::size_t n, std::size_t begin) { return n - begin < width ? n - begin : width; }

/// `rows` rows of a times one panel, of whose columns the first `cols` count.
template <int rows>
void multiply_panel(const packed_product& what, std::size_t first, const float* panel, float* c, std::size_t cols) {
  pack sums[rows][2];
  for (auto& sum : sums) sum[0] = sum[1] = all(0.0F);
  const std::size_t row_step = what.a_transposed ? 1 : what.a_stride;
  const std::size_t step = what.a_transposed ? what.a_stride : 1;
  const float* a = what.a + first * row_step;
  for (std::size_t l = 0; l < what.k; ++l, panel += width, a += step) {
    const pack left = load(panel);
    const pack right = load(panel + lanes);
    for (int row = 0; row < rows; ++row) {
      const pack factor = all(a[static_cast<std::size_t>(row) * row_step]);
      sums[row][0] = times_add(factor, left, sums[row][0]);
      sums[row][1] = times_add(factor, right, sums[row][1]);
    }
  }
  for (int row = 0; row < rows; ++row) {
    float* to = c + (first + static_cast<std::size_t>(row)) * what.c_stride;
    const auto put = [&](float* where, pack sum, const auto& at) {
      at.write(where, what.accumulate ? add(at.read(where), sum) : sum);
    };
    each_pack(cols, [&](std::size_t i, const auto& at) { put(to + i, sums[row][i / lanes], at); });
  }
}

/// `rows` rows of a, from `first` on, times all panels.
template <int rows>
void multiply_rows(const packed_product& what, std::size_t first) {
  const float* panel = what.packed;
  for (std::size_t begin = 0; begin < what.n; begin += width, panel += what.k * width)
    multiply_panel<rows>(what, first, panel, what.c + begin, columns(what.n, begin));
}

/// From row `first` on: most_rows at a time, then what is left at once.
template <int rows = most_rows>
void multiply_from(const packed_product& what, std::size_t first) {
  for (; first + rows <= what.m; first += rows) multiply_rows<rows>(what, first);
  if constexpr (rows > 1)
    if (first < what.m) multiply_from<rows - 1>(what, first);
}

/// A vector's worth of rows of b' (columns of b), from `from` on, to the panel: lanes x lanes elements, turned over.
void pack_square(const float* from, std::size_t stride, float* panel) {
  Eigen::internal::PacketBlock<pack, lanes> square;
  for (std::uint32_t j = 0; j < lanes; ++j) square.packet[j] = load(from + j * stride);
  Eigen::internal::ptranspose(square);
  for (std::uint32_t l = 0; l < lanes; ++l) store(panel + l * width, square.packet[l]);
}

}  // namespace

void pack_right(const float* b, std::size_t b_stride, bool b_transposed, std::size_t k, std::size_t n, float* packed) {
  for (std::size_t begin = 0; begin < n; begin += width) {
    const std::size_t cols = columns(n, begin);
    std::size_t l = 0;
    if (b_transposed && cols == width)
      for (; l + lanes <= k; l += lanes, packed += lanes * width)
        for (std::uint32_t half = 0; half < width; half += lanes)
          pack_square(b + (begin + half) * b_stride + l, b_stride, packed + half);
    for (; l < k; ++l, packed += width) {
      for (std::size_t j = 0; j < cols; ++j)
        packed[j] = b_transposed ? b[(begin + j) * b_stride + l] : b[l * b_stride + begin + j];
      for (std::size_t j = cols; j < width; ++j) packed[j] = 0.0F;
    }
  }
}

void multiply_packed(const packed_product& what) {
  if (what.n <= what.m) return multiply_from(what, 0);
  // The larger operand is read once, a panel at a time; the smaller one stays in the cache.
  for (std::size_t begin = 0; begin < what.n; begin += width) {
    auto panel = what;
    panel.packed += begin * what.k;
    panel.c += begin;
    panel.n = columns(what.n, begin);
    multiply_from(panel, 0);
  }
}

void add_rows(float* to, const float* from, std::size_t rows, std::size_t cols) {
  for (std::size_t row = 0; row < rows; ++row, from += cols)
    each_pack(cols, [&](std::size_t i, const auto& at) { at.write(to + i, add(at.read(to + i), at.read(from + i))); });
}

}  // namespace furlong::models::FURLONG_LEVEL
