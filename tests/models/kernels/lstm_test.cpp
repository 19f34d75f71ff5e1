#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "models/kernels/kernels.hpp"
#include "models/kernels/levels.hpp"
#include "tests/models/drawn.hpp"
#include "tests/models/layers/lstm_reference.hpp"

BOOST_AUTO_TEST_SUITE(lstm_kernels)

using namespace furlong;
using tests::drawn;
using tests::sigmoid;

namespace {

constexpr std::size_t rows = 3;

struct buffers {
  std::vector<float> gates;
  std::vector<float> before;
  std::vector<float> squashed;
  std::vector<float> cell;
  std::vector<float> output;

  explicit buffers(std::size_t hidden)
      : gates(drawn(rows * 4 * hidden, 1, -20.0F, 20.0F)),  // far into both tails
        before(drawn(rows * hidden, 2, -2.0F, 2.0F)),
        squashed(rows * hidden),
        cell(rows * hidden),
        output(rows * hidden) {}
  models::lstm_step step(std::size_t hidden, const std::vector<float>& bias) {
    return {gates.data(), bias.data(), before.data(), cell.data(), squashed.data(), output.data(), rows, hidden};
  }
};

bool near(double ours, double expected) { return std::abs(ours - expected) <= 1e-6 * std::abs(expected) + 1e-7; }

template <class Work>
void at_every_level(const Work& work) {
  for (const auto* level : models::supported_kernels())
    for (const std::size_t hidden : {1U, 2U, 5U, 8U, 15U, 16U, 17U, 33U, 64U, 100U})
      BOOST_TEST_CONTEXT(level->level << ", hidden " << hidden) { work(*level, hidden); }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_cells_follow_the_equations) {
  at_every_level([](const models::kernel_table& k, std::size_t hidden) {
    buffers b(hidden);
    const auto sums = b.gates;
    const auto bias = drawn(4 * hidden, 3);
    k.lstm_forward(b.step(hidden, bias));
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t j = 0; j < hidden; ++j) {
        const auto sum = [&](std::size_t gate) {
          const auto at = gate * hidden + j;
          return static_cast<double>(sums[row * 4 * hidden + at] + bias[at]);
        };
        const auto gate = [&](std::size_t which) { return b.gates[row * 4 * hidden + which * hidden + j]; };
        const auto at = row * hidden + j;
        const double i = sigmoid(sum(0));
        const double f = sigmoid(sum(1));
        const double g = std::tanh(sum(2));
        const double o = sigmoid(sum(3));
        const double c = f * static_cast<double>(b.before[at]) + i * g;
        BOOST_TEST((near(gate(0), i) && near(gate(1), f) && near(gate(2), g) && near(gate(3), o)));
        BOOST_TEST(std::abs(b.cell[at] - c) <= 1e-6);
        const double expected = std::tanh(static_cast<double>(b.cell[at]));
        BOOST_TEST(near(b.squashed[at], expected));
        BOOST_TEST(near(b.output[at], o * expected));
      }
  });
}

BOOST_AUTO_TEST_CASE(gradients_follow_the_equations) {
  at_every_level([](const models::kernel_table& k, std::size_t hidden) {
    buffers b(hidden);
    for (auto& value : b.gates) value = 0.4F + value / 50.0F;
    b.squashed = drawn(rows * hidden, 4);
    const auto gates = b.gates;
    const auto d_output = drawn(rows * hidden, 5);
    const auto d_after = drawn(rows * hidden, 6);
    auto d_cell = d_after;
    k.lstm_backward(b.step(hidden, {}), d_output.data(), d_cell.data());
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t j = 0; j < hidden; ++j) {
        const auto at = row * hidden + j;
        const auto gate = [&](const std::vector<float>& of, std::size_t which) {
          return static_cast<double>(of[row * 4 * hidden + which * hidden + j]);
        };
        const double t = b.squashed[at];
        const double d_h = d_output[at];
        const double d_c = static_cast<double>(d_after[at]) + d_h * gate(gates, 3) * (1 - t * t);
        const double i = gate(gates, 0);
        const double f = gate(gates, 1);
        const double g = gate(gates, 2);
        const double o = gate(gates, 3);
        BOOST_TEST(near(gate(b.gates, 0), d_c * g * i * (1 - i)));
        BOOST_TEST(near(gate(b.gates, 1), d_c * static_cast<double>(b.before[at]) * f * (1 - f)));
        BOOST_TEST(near(gate(b.gates, 2), d_c * i * (1 - g * g)));
        BOOST_TEST(near(gate(b.gates, 3), d_h * t * o * (1 - o)));
        BOOST_TEST(near(d_cell[at], d_c * f));
      }
  });
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_is_not_hidden_by_a_gate) {
  at_every_level([](const models::kernel_table& k, std::size_t hidden) {
    const std::vector<float> bias(4 * hidden);
    for (std::size_t gate = 0; gate < 4; ++gate) {
      buffers b(hidden);
      b.gates[gate * hidden + hidden / 2] = std::numeric_limits<float>::quiet_NaN();
      k.lstm_forward(b.step(hidden, bias));
      BOOST_TEST(std::isnan(b.output[hidden / 2]));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
