#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "models/kernels/levels.hpp"
#include "tests/models/drawn.hpp"

BOOST_AUTO_TEST_SUITE(softmax_kernels)

using namespace furlong;
using tests::drawn;

namespace {

constexpr std::size_t rows = 3;

struct reference {
  double loss = 0.0;
  std::vector<double> gradient;  ///< rows x classes
};

reference softmax(const std::vector<float>& logits, const std::vector<float>& bias,
                  const std::vector<std::uint32_t>& targets, double scale) {
  const auto classes = bias.size();
  reference made;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto at = [&](std::size_t c) { return static_cast<double>(logits[row * classes + c] + bias[c]); };
    double largest = at(0);
    for (std::size_t c = 1; c < classes; ++c) largest = std::max(largest, at(c));
    double sum = 0.0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(at(c) - largest);
    made.loss += std::log(sum) + largest - at(targets[row]);
    for (std::size_t c = 0; c < classes; ++c)
      made.gradient.push_back(scale * (std::exp(at(c) - largest) / sum - (c == targets[row] ? 1.0 : 0.0)));
  }
  return made;
}

template <class Work>
void at_every_level(const Work& work) {
  for (const auto* level : models::supported_kernels())
    for (const std::uint32_t classes : {1U, 2U, 7U, 16U, 33U, 1000U, 10'001U})
      for (const float spread : {1.0F, 30.0F})
        BOOST_TEST_CONTEXT(level->level << ", " << classes << " classes, logits to " << spread) {
          work(*level, classes, drawn(rows * classes, 1, -spread, spread));
        }
}

}  // namespace

BOOST_AUTO_TEST_CASE(loss_and_gradient_are_those_of_the_definition) {
  at_every_level([](const models::kernel_table& k, std::uint32_t classes, const std::vector<float>& logits) {
    const auto targets = tests::drawn_below(rows, 2, classes);
    for (const bool biased : {false, true}) {
      const auto bias = biased ? drawn(classes, 3) : std::vector<float>(classes, 0.0F);
      const auto expected = softmax(logits, bias, targets, 0.25);
      auto values = logits;
      std::vector<float> d_bias(classes, 2.0F);
      const double loss =
          k.softmax_gradient({values.data(), classes, rows, classes, biased ? bias.data() : nullptr, targets.data()},
                             0.25F, d_bias.data());
      BOOST_TEST(std::abs(loss - expected.loss) <= 2e-6 * (1.0 + expected.loss));
      for (std::size_t i = 0; i < values.size(); ++i)
        BOOST_REQUIRE_SMALL(static_cast<double>(values[i]) - expected.gradient[i],
                            1e-8 + 3e-6 * std::abs(expected.gradient[i]));
      for (std::size_t c = 0; c < classes; ++c) {
        double sum = 2.0;
        for (std::size_t row = 0; row < rows; ++row) sum += expected.gradient[row * classes + c];
        BOOST_REQUIRE_SMALL(static_cast<double>(d_bias[c]) - sum, 1e-6);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(scores_are_the_loss_and_the_first_of_the_largest) {
  at_every_level([](const models::kernel_table& k, std::uint32_t classes, std::vector<float> logits) {
    const auto targets = tests::drawn_below(rows, 2, classes);
    const auto bias = drawn(classes, 3);
    const auto expected = softmax(logits, bias, targets, 1.0);
    std::vector<std::uint32_t> likeliest(rows);
    std::vector<std::uint32_t> largest;
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> sums(classes);
      for (std::size_t c = 0; c < classes; ++c) sums[c] = logits[row * classes + c] + bias[c];
      largest.push_back(static_cast<std::uint32_t>(std::ranges::max_element(sums) - sums.begin()));
    }
    const double loss =
        k.softmax_score({logits.data(), classes, rows, classes, bias.data(), targets.data()}, likeliest.data());
    BOOST_TEST(std::abs(loss - expected.loss) <= 2e-6 * (1.0 + expected.loss));
    BOOST_TEST(likeliest == largest, boost::test_tools::per_element());

    std::vector<float> equal(rows * classes, 1.5F);
    k.softmax_score({equal.data(), classes, rows, classes, nullptr, targets.data()}, likeliest.data());
    BOOST_TEST(likeliest == std::vector<std::uint32_t>(rows, 0), boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(what_lies_between_rows_is_nothing_to_it) {
  at_every_level([](const models::kernel_table& k, std::uint32_t classes, const std::vector<float>& logits) {
    const auto targets = tests::drawn_below(rows, 2, classes);
    const auto bias = drawn(classes, 3);
    constexpr float between = 1e9F;
    const std::size_t stride = classes + 5;
    std::vector<float> apart(rows * stride, between);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(logits.data() + row * classes, classes, apart.data() + row * stride);
    auto scored = apart;
    auto dense = logits;
    std::vector<float> d_bias(classes), expected(classes);
    const double loss =
        k.softmax_gradient({dense.data(), classes, rows, classes, bias.data(), targets.data()}, 0.5F, expected.data());
    BOOST_TEST(k.softmax_gradient({apart.data(), stride, rows, classes, bias.data(), targets.data()}, 0.5F,
                                  d_bias.data()) == loss);
    BOOST_TEST(d_bias == expected, boost::test_tools::per_element());
    for (std::size_t row = 0; row < rows; ++row) {
      const float* of_row = apart.data() + row * stride;
      BOOST_TEST(std::equal(of_row, of_row + classes, dense.data() + row * classes));
      BOOST_TEST(std::count(of_row + classes, of_row + stride, between) == 5);
    }
    std::vector<std::uint32_t> likeliest(rows);
    BOOST_TEST(k.softmax_score({scored.data(), stride, rows, classes, bias.data(), targets.data()}, likeliest.data()) ==
               loss);
    for (const auto one : likeliest) BOOST_TEST(one < classes);
  });
}

BOOST_AUTO_TEST_CASE(large_logits_do_not_overflow_and_nan_shows) {
  for (const auto* level : models::supported_kernels()) {
    const std::uint32_t target = 1;
    std::vector<float> logits(40, -1e4F);
    logits[1] = 1e4F;
    BOOST_TEST(level->softmax_gradient({logits.data(), 40, 1, 40, nullptr, &target}, 1.0F, nullptr) == 0.0);
    for (const float value : logits) BOOST_TEST(std::abs(value) < 1e-37F);
    logits[7] = std::nanf("");
    std::uint32_t likeliest = 0;
    BOOST_TEST(std::isnan(level->softmax_score({logits.data(), 40, 1, 40, nullptr, &target}, &likeliest)));
    BOOST_TEST(likeliest < 40U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
