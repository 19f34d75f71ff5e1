#include "models/layers/pooling.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/models/drawn.hpp"
#include "tests/models/layers/lstm_reference.hpp"
#include "tests/models/layers/slopes.hpp"

BOOST_AUTO_TEST_SUITE(pooling)

using namespace furlong;

namespace {

constexpr std::size_t cols = 6;

models::packed_sequences ragged() {
  models::packed_sequences packing;
  models::pack(std::vector<std::uint32_t>{2, 5, 1, 5, 3}, packing);
  return packing;
}

models::tensor_view view(std::vector<float>& of) {
  return {of.data(), static_cast<std::uint32_t>(of.size() / cols), static_cast<std::uint32_t>(cols)};
}

/// The values of each column, in no order and 0.1 apart: what is largest stays so when one moves a little.
std::vector<float> well_apart(std::size_t rows) {
  std::vector<float> x;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < cols; ++k) x.push_back(0.1F * static_cast<float>((7 * row + 3 * k) % rows));
  return x;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_largest_value_of_each_column_takes_the_gradient) {
  const auto packing = ragged();
  auto x = tests::drawn(packing.rows() * cols, 1);
  x[packing.row(0, 2) * cols] = x[packing.row(0, 4) * cols] = 2.0F;  // equal: the first counts
  std::vector<float> out(packing.count() * cols);
  std::vector<std::uint32_t> from(out.size());
  models::max_over_steps(packing, view(x), view(out), from);
  auto d_out = tests::drawn(out.size(), 2);
  std::vector<float> d_x(x.size(), 9.0F);
  models::max_over_steps_backward(view(d_out), from, view(d_x));
  for (std::uint32_t place = 0; place < packing.count(); ++place)
    for (std::size_t k = 0; k < cols; ++k) {
      const auto rows = tests::rows_of(packing, place);
      const auto value = [&](std::uint32_t row) { return x[row * cols + k]; };
      const auto largest = std::ranges::max_element(rows, {}, value);
      BOOST_TEST(out[place * cols + k] == value(*largest));
      for (const auto row : rows) BOOST_TEST(d_x[row * cols + k] == (row == *largest ? d_out[place * cols + k] : 0.0F));
    }
}

BOOST_AUTO_TEST_CASE(the_last_states_are_those_of_the_last_and_of_the_first_step) {
  const auto packing = ragged();
  auto x = tests::drawn(packing.rows() * cols, 1);
  std::vector<float> out(packing.count() * cols);
  models::last_states(packing, view(x), view(out));
  auto d_out = tests::drawn(out.size(), 2);
  std::vector<float> d_x(x.size(), 9.0F);
  models::last_states_backward(packing, view(d_out), view(d_x));
  for (std::uint32_t place = 0; place < packing.count(); ++place) {
    const auto rows = tests::rows_of(packing, place);
    for (std::size_t k = 0; k < cols; ++k) {
      const auto taken = k < cols / 2 ? rows.back() : rows.front();
      BOOST_TEST(out[place * cols + k] == x[taken * cols + k]);
      for (const auto row : rows) BOOST_TEST(d_x[row * cols + k] == (row == taken ? d_out[place * cols + k] : 0.0F));
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_slopes) {
  const auto packing = ragged();
  BOOST_REQUIRE(packing.rows() % 7 != 0U);  // or values of well_apart() would be equal
  auto x = well_apart(packing.rows());
  std::vector<float> out(packing.count() * cols);
  std::vector<std::uint32_t> from(out.size());
  auto factors = tests::drawn(out.size(), 2);
  std::vector<float> d_x(x.size(), 9.0F);
  const auto loss_by = [&](auto pool) {
    return [&, pool] {
      pool();
      return tests::weighted_sum(factors, out.data());
    };
  };
  const auto largest = loss_by([&] { models::max_over_steps(packing, view(x), view(out), from); });
  largest();
  models::max_over_steps_backward(view(factors), from, view(d_x));
  tests::check_slopes("max", x, d_x, largest);
  models::last_states_backward(packing, view(factors), view(d_x));
  tests::check_slopes("last", x, d_x, loss_by([&] { models::last_states(packing, view(x), view(out)); }));
}

BOOST_AUTO_TEST_SUITE_END()
