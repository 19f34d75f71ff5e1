#include <boost/test/unit_test.hpp>

#include "base/random.hpp"
#include "models/kernels/levels.hpp"

BOOST_AUTO_TEST_SUITE(matrix_products)

using namespace furlong;

namespace {

std::vector<float> draw(std::size_t n, std::uint32_t part) {
  random_stream stream(12, purpose::test, 0, 0, part);
  std::vector<float> values(n);
  for (auto& value : values) value = stream.uniform(-1.0F, 1.0F);
  return values;
}

struct shape {
  std::size_t m, n, k;
};

constexpr std::size_t gap = 3;  ///< between rows

/// Ends with the last element: a kernel that reads on reads what is not its own.
std::vector<float> draw_matrix(std::size_t rows, std::size_t cols, std::uint32_t part) {
  return draw((rows - 1) * (cols + gap) + cols, part);
}

double at(const std::vector<float>& of, std::size_t stride, bool transposed, std::size_t row, std::size_t col) {
  return static_cast<double>(transposed ? of[col * stride + row] : of[row * stride + col]);
}

void check(const models::kernel_table& level, const shape& s, bool a_transposed, bool b_transposed, bool accumulate) {
  const auto a_stride = (a_transposed ? s.m : s.k) + gap;
  const auto b_stride = (b_transposed ? s.k : s.n) + gap;
  const auto c_stride = s.n + gap;
  const auto a = draw_matrix(a_transposed ? s.k : s.m, a_transposed ? s.m : s.k, 1);
  const auto b = draw_matrix(b_transposed ? s.n : s.k, b_transposed ? s.k : s.n, 2);
  const auto before = draw(s.m * c_stride, 3);
  auto c = before;
  level.multiply({a.data(), a_stride, a_transposed, b.data(), b_stride, b_transposed, c.data(), c_stride, s.m, s.n, s.k,
                  accumulate});
  for (std::size_t i = 0; i < s.m; ++i) {
    for (std::size_t j = 0; j < s.n; ++j) {
      double sum = accumulate ? static_cast<double>(before[i * c_stride + j]) : 0.0;
      for (std::size_t l = 0; l < s.k; ++l)
        sum += at(a, a_stride, a_transposed, i, l) * at(b, b_stride, b_transposed, l, j);
      BOOST_REQUIRE_SMALL(static_cast<double>(c[i * c_stride + j]) - sum, 1e-5 * static_cast<double>(s.k + 1));
    }
    for (std::size_t j = s.n; j < c_stride; ++j) BOOST_REQUIRE(c[i * c_stride + j] == before[i * c_stride + j]);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_orientation_gives_the_sums_and_leaves_what_is_between_the_rows) {
  for (const auto* level : furlong::models::supported_kernels())
    for (const auto& s :
         {shape{1, 1, 1}, shape{1, 7, 5}, shape{9, 1, 4}, shape{5, 16, 33}, shape{20, 48, 17}, shape{33, 70, 300},
          shape{300, 70, 700}, shape{97, 96, 2000}, shape{9, 150, 1600}, shape{2, 32, 20}, shape{3, 80, 20},
          shape{5, 24, 9}, shape{7, 20, 9}, shape{50, 32, 40}, shape{60, 55, 35}})
      for (const bool a : {false, true})
        for (const bool b : {false, true})
          for (const bool accumulate : {false, true})
            BOOST_TEST_CONTEXT(level->level << " " << s.m << " x " << s.n << " x " << s.k << " " << a << b
                                            << accumulate) {
              check(*level, s, a, b, accumulate);
            }
}

/// The product, accumulated, with a, b and c each this many floats into an allocation.
std::vector<float> multiplied(const models::kernel_table& level, const shape& s, std::size_t shift_of_a,
                              std::size_t shift_of_b, std::size_t shift_of_c) {
  const auto shifted = [](std::vector<float> values, std::size_t by) {
    values.insert(values.begin(), by, 0.0F);
    return values;
  };
  const auto a = shifted(draw(s.m * s.k, 1), shift_of_a);
  const auto b = shifted(draw(s.k * s.n, 2), shift_of_b);
  auto c = shifted(draw(s.m * s.n, 3), shift_of_c);
  level.multiply({a.data() + shift_of_a, s.k, false, b.data() + shift_of_b, s.n, false, c.data() + shift_of_c, s.n, s.m,
                  s.n, s.k, true});
  c.erase(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(shift_of_c));
  return c;
}

BOOST_AUTO_TEST_CASE(the_same_bits_wherever_the_operands_lie) {
  for (const auto* level : furlong::models::supported_kernels())
    for (const auto& s : {shape{1, 8, 10}, shape{1, 3, 5}, shape{7, 1, 9}, shape{1, 1, 16}, shape{1, 70, 40},
                          shape{50, 1, 33}, shape{4, 4, 4}, shape{20, 30, 40}}) {
      const auto expected = multiplied(*level, s, 0, 0, 0);
      for (std::size_t shift = 1; shift < 16; ++shift)
        BOOST_TEST_CONTEXT(level->level << " " << s.m << " x " << s.n << " x " << s.k << ", " << shift) {
          BOOST_TEST((multiplied(*level, s, 0, 0, shift) == expected));
          BOOST_TEST((multiplied(*level, s, shift, 0, 0) == expected));
          BOOST_TEST((multiplied(*level, s, 0, shift, 0) == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_packed_operand_gives_the_same_sums) {
  for (const auto* level : furlong::models::supported_kernels())
    for (const auto& s :
         {shape{1, 1, 1}, shape{5, 8, 3}, shape{7, 33, 17}, shape{13, 31, 40}, shape{30, 100, 65}, shape{110, 50, 9}})
      for (const int orientation : {0, 1, 2, 3})
        for (const bool accumulate : {false, true})
          BOOST_TEST_CONTEXT(level->level << " " << s.m << " x " << s.n << " x " << s.k << " " << orientation
                                          << accumulate) {
            const bool left_transposed = orientation > 1;
            const bool transposed = orientation % 2 == 1;
            const auto a_stride = (left_transposed ? s.m : s.k) + gap;
            const auto a = draw_matrix(left_transposed ? s.k : s.m, left_transposed ? s.m : s.k, 1);
            const auto b_stride = (transposed ? s.k : s.n) + gap;
            const auto b = draw_matrix(transposed ? s.n : s.k, transposed ? s.k : s.n, 2);
            const auto before = draw(s.m * (s.n + gap), 3);
            auto c = before;
            std::vector<float> packed(furlong::models::packed_floats(s.k, s.n));
            level->pack_right(b.data(), b_stride, transposed, s.k, s.n, packed.data());
            level->multiply_packed(
                {a.data(), a_stride, left_transposed, packed.data(), c.data(), s.n + gap, s.m, s.n, s.k, accumulate});
            for (std::size_t i = 0; i < s.m; ++i)
              for (std::size_t j = 0; j < s.n + gap; ++j) {
                const auto was = static_cast<double>(before[i * (s.n + gap) + j]);
                double sum = accumulate || j >= s.n ? was : 0.0;
                for (std::size_t l = 0; j < s.n && l < s.k; ++l)
                  sum += at(a, a_stride, left_transposed, i, l) * at(b, b_stride, transposed, l, j);
                BOOST_REQUIRE_SMALL(static_cast<double>(c[i * (s.n + gap) + j]) - sum,
                                    1e-5 * static_cast<double>(s.k + 1));
              }
          }
}

BOOST_AUTO_TEST_CASE(rows_add_up) {
  for (const auto* level : furlong::models::supported_kernels())
    for (const std::size_t cols : {1U, 7U, 16U, 50U}) {
      const auto from = draw(5 * cols, 1);
      std::vector<float> to(cols, 1.0F);
      level->add_rows(to.data(), from.data(), 5, cols);
      for (std::size_t j = 0; j < cols; ++j) {
        double sum = 1.0;
        for (std::size_t row = 0; row < 5; ++row) sum += static_cast<double>(from[row * cols + j]);
        BOOST_TEST(std::abs(static_cast<double>(to[j]) - sum) < 1e-6);
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
