// Layers without memory: embedding, dense, relu, softmax output, dropout.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "models/layers/dense.hpp"
#include "models/layers/dropout.hpp"
#include "models/layers/embedding.hpp"
#include "models/layers/relu.hpp"
#include "models/layers/softmax_output.hpp"
#include "tests/models/drawn.hpp"
#include "tests/models/layers/slopes.hpp"

BOOST_AUTO_TEST_SUITE(layers)

using namespace furlong;
using namespace furlong::models;
using tests::drawn;

BOOST_AUTO_TEST_CASE(an_embedding_picks_rows_and_adds_up_their_gradients) {
  auto table = drawn(5 * 3, 1);
  const std::vector<std::uint32_t> tokens{4, 1, 4, 0};
  std::vector<float> out(tokens.size() * 3);
  const auto forward = [&] { embed({table.data(), 5, 3}, tokens, {out.data(), 4, 3}); };
  forward();
  for (std::size_t i = 0; i < out.size(); ++i) BOOST_TEST(out[i] == table[tokens[i / 3] * 3 + i % 3]);
  auto factors = drawn(out.size(), 2);
  std::vector<float> d_table(table.size(), 0.0F);
  embed_backward(tokens, {factors.data(), 4, 3}, d_table.data());
  tests::check_slopes("table", table, d_table, [&] {
    forward();
    return tests::weighted_sum(factors, out.data());
  });
}

BOOST_AUTO_TEST_CASE(a_dense_layers_gradients_are_slopes) {
  for (const bool biased : {false, true}) {
    auto weight = drawn(6 * 5, 1);
    auto bias = drawn(6, 2);
    auto x = drawn(7 * 5, 3);
    std::vector<float> y(7 * 6);
    const dense_weights w{{weight.data(), 6, 5}, biased ? bias.data() : nullptr};
    auto factors = drawn(y.size(), 4);
    const auto loss = [&] {
      dense_forward(w, {x.data(), 7, 5}, {y.data(), 7, 6});
      return tests::weighted_sum(factors, y.data());
    };
    std::vector<float> d_weight(weight.size(), std::nanf(""));
    std::vector<float> d_bias(bias.size(), biased ? std::nanf("") : 0.0F);
    std::vector<float> d_x(x.size(), std::nanf(""));
    dense_backward(w, {x.data(), 7, 5}, {factors.data(), 7, 6}, {d_weight.data(), biased ? d_bias.data() : nullptr},
                   {d_x.data(), 7, 5});
    tests::check_slopes("weight", weight, d_weight, loss);
    tests::check_slopes("bias", bias, d_bias, loss);
    tests::check_slopes("x", x, d_x, loss);
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_of_relu_is_its_slope) {
  auto x = drawn(7 * 5, 1);
  for (auto& value : x) value += value < 0.0F ? -0.05F : 0.05F;  // no difference is taken across the kink
  const auto factors = drawn(x.size(), 2);
  std::vector<float> y(x.size());
  const auto loss = [&] {
    y = x;
    relu({y.data(), 7, 5});
    return tests::weighted_sum(factors, y.data());
  };
  loss();
  auto d = factors;
  relu_backward({y.data(), 7, 5}, {d.data(), 7, 5});
  tests::check_slopes("x", x, d, loss);
  BOOST_TEST(std::ranges::count(d, 0.0F) > 5);
  BOOST_TEST(std::ranges::count(d, 0.0F) < 30);
}

BOOST_AUTO_TEST_CASE(a_softmax_outputs_gradients_are_slopes_of_its_mean_loss) {
  const std::size_t rows = 5;
  const std::size_t classes = 9;
  auto weight = drawn(classes * 4, 1);
  auto bias = drawn(classes, 2);
  auto h = drawn(rows * 4, 3);
  const auto targets = tests::drawn_below(rows, 4, classes);
  const dense_weights w{{weight.data(), classes, 4}, bias.data()};
  const tensor_view states{h.data(), rows, 4};
  arena memory;
  std::vector<std::uint32_t> likeliest(rows);
  const auto loss = [&] {
    memory.clear();
    return softmax_output_score(w, states, targets, likeliest, memory) / rows;
  };
  std::vector<float> d_weight(weight.size(), std::nanf(""));
  std::vector<float> d_bias(bias.size(), std::nanf(""));
  std::vector<float> d_h(h.size(), std::nanf(""));
  const double mean =
      softmax_output_gradient(w, states, targets, {d_weight.data(), d_bias.data()}, {d_h.data(), rows, 4}, memory);
  BOOST_TEST(mean == loss(), boost::test_tools::tolerance(1e-6));
  tests::check_slopes("weight", weight, d_weight, loss);
  tests::check_slopes("bias", bias, d_bias, loss);
  tests::check_slopes("h", h, d_h, loss);
}

// More rows than one block takes: blocks add up to what single rows give.
BOOST_AUTO_TEST_CASE(a_softmax_output_in_blocks_is_the_sum_of_its_rows) {
  const std::uint32_t rows = 45;  // blocks take 16 rows at least
  const std::uint32_t classes = 200'000;
  auto weight = drawn(std::size_t{classes} * 2, 1);
  auto h = drawn(rows * 2, 3);
  const auto targets = tests::drawn_below(rows, 4, classes);
  const dense_weights w{{weight.data(), classes, 2}, nullptr};
  arena memory;
  std::vector<float> d_weight(weight.size());
  std::vector<float> d_h(h.size());
  const double mean = softmax_output_gradient(w, {h.data(), rows, 2}, targets, {d_weight.data(), nullptr},
                                              {d_h.data(), rows, 2}, memory);
  double sum = 0.0;
  std::vector<double> expected(weight.size(), 0.0);
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::vector<float> d_one(weight.size());
    std::vector<float> d_row(2);
    memory.clear();
    sum += softmax_output_gradient(w, {h.data() + row * 2, 1, 2}, std::span(targets).subspan(row, 1),
                                   {d_one.data(), nullptr}, {d_row.data(), 1, 2}, memory);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(d_one[i]) / rows;
    for (std::size_t i = 0; i < 2; ++i)
      BOOST_TEST(std::abs(static_cast<double>(d_h[row * 2 + i]) - static_cast<double>(d_row[i]) / rows) < 1e-7);
  }
  BOOST_TEST(mean == sum / rows, boost::test_tools::tolerance(1e-7));
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(d_weight[i]) - expected[i]));
  BOOST_TEST(worst < 1e-8);
}

BOOST_AUTO_TEST_CASE(dropout_keeps_the_expected_value) {
  random_stream noise(3, purpose::test);
  std::vector<float> mask(100'000);
  draw_dropout(noise, 0.3F, mask);
  double sum = 0.0;
  std::size_t dropped = 0;
  for (const float factor : mask) {
    BOOST_REQUIRE((factor == 0.0F || factor == 1.0F / (1.0F - 0.3F)));
    sum += static_cast<double>(factor);
    dropped += factor == 0.0F ? 1 : 0;
  }
  // Four standard deviations of a mean of 100,000.
  BOOST_TEST(std::abs(static_cast<double>(dropped) / 1e5 - 0.3) < 4 * std::sqrt(0.21 / 1e5));
  BOOST_TEST(std::abs(sum / 1e5 - 1.0) < 4 * std::sqrt(0.21 / 1e5) / 0.7);
  auto values = drawn(mask.size(), 2);
  const auto before = values;
  drop(mask, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) BOOST_REQUIRE(values[i] == before[i] * mask[i]);
}

BOOST_AUTO_TEST_SUITE_END()
