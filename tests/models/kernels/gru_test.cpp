#include <boost/test/unit_test.hpp>
#include <cmath>

#include "models/kernels/levels.hpp"
#include "tests/models/drawn.hpp"

BOOST_AUTO_TEST_SUITE(gru_kernels)

using namespace furlong;
using tests::drawn;

namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// One time step with all its arrays.
struct step_arrays {
  std::size_t rows, hidden;
  std::vector<float> gates, recurrent, bias_input, bias_recurrent, before, candidate, after;

  step_arrays(std::size_t r, std::size_t h, float scale)
      : rows(r),
        hidden(h),
        gates(drawn(r * 3 * h, 1, -scale, scale)),
        recurrent(drawn(r * 3 * h, 2, -scale, scale)),
        bias_input(drawn(3 * h, 3)),
        bias_recurrent(drawn(3 * h, 4)),
        before(drawn(r * h, 5)),
        candidate(r * h),
        after(r * h) {}

  models::gru_step step() {
    return {gates.data(),  recurrent.data(), bias_input.data(), bias_recurrent.data(),
            before.data(), candidate.data(), after.data(),      rows,
            hidden};
  }
};

void close(float value, double expected) {
  // 1 - z and 1 - n^2 cancel: their absolute error is that of z and n.
  BOOST_REQUIRE_SMALL(static_cast<double>(value) - expected, 3e-7 + 1e-6 * std::abs(expected));
}

template <class Work>
void at_every_level(const Work& work) {
  for (const auto* level : models::supported_kernels())
    for (const std::size_t hidden : {1U, 5U, 16U, 37U, 300U})
      for (const std::size_t rows : {1U, 3U}) BOOST_TEST_CONTEXT(level->level << ", " << rows << " x " << hidden) {
          work(*level, rows, hidden);
        }
}

}  // namespace

BOOST_AUTO_TEST_CASE(gates_and_state_are_those_of_the_equations) {
  at_every_level([](const models::kernel_table& k, std::size_t rows, std::size_t hidden) {
    const step_arrays given(rows, hidden, 4.0F);
    auto made = given;
    k.gru_forward(made.step());
    for (std::size_t i = 0; i < rows * hidden; ++i) {
      const auto row = i / hidden;
      const auto unit = i % hidden;
      const auto from = [&](const std::vector<float>& product, const std::vector<float>& bias, std::size_t gate) {
        return static_cast<double>(product[row * 3 * hidden + gate * hidden + unit]) +
               static_cast<double>(bias[gate * hidden + unit]);
      };
      const auto sum = [&](std::size_t gate) {
        return from(given.gates, given.bias_input, gate) + from(given.recurrent, given.bias_recurrent, gate);
      };
      const double r = sigmoid(sum(0));
      const double z = sigmoid(sum(1));
      const double candidate = from(given.recurrent, given.bias_recurrent, 2);
      const double n = std::tanh(from(given.gates, given.bias_input, 2) + r * candidate);
      const auto left = [&](std::size_t gate) { return made.gates[row * 3 * hidden + gate * hidden + unit]; };
      // A sum of numbers up to 5 is off by up to 5e-7 before it enters a gate.
      BOOST_REQUIRE_SMALL(static_cast<double>(left(0)) - r, 1e-6);
      BOOST_REQUIRE_SMALL(static_cast<double>(left(1)) - z, 1e-6);
      BOOST_REQUIRE_SMALL(static_cast<double>(left(2)) - n, 2e-6);
      close(made.candidate[i], candidate);
      BOOST_REQUIRE_SMALL(static_cast<double>(made.after[i]) - ((1 - z) * n + z * static_cast<double>(given.before[i])),
                          2e-6);
    }
  });
}

BOOST_AUTO_TEST_CASE(gates_are_finite_and_accurate_far_from_zero) {
  for (const auto* level : models::supported_kernels())
    for (const float x : {-1e30F, -200.0F, -80.0F, -20.0F, -1e-3F, 0.0F, 1e-6F, 0.3F, 9.0F, 20.0F, 200.0F, 1e30F}) {
      BOOST_TEST_CONTEXT(level->level << ", " << x) {
        step_arrays one(1, 21, 0.0F);
        for (auto* bias : {&one.bias_input, &one.bias_recurrent}) std::ranges::fill(*bias, 0.0F);
        std::ranges::fill(one.gates, x);
        level->gru_forward(one.step());
        for (std::size_t i = 0; i < 21; ++i) {
          const double gate = sigmoid(static_cast<double>(x));
          BOOST_TEST(std::abs(static_cast<double>(one.gates[i]) - gate) <= 1e-6 * gate + 1e-37);
          const double n = std::tanh(static_cast<double>(x));
          BOOST_TEST(std::abs(static_cast<double>(one.gates[42 + i]) - n) <= 1e-6 * std::abs(n));
        }
      }
    }
}

BOOST_AUTO_TEST_CASE(the_gradient_is_that_of_the_equations) {
  at_every_level([](const models::kernel_table& k, std::size_t rows, std::size_t hidden) {
    auto given = step_arrays(rows, hidden, 2.0F);
    k.gru_forward(given.step());
    auto spent = given;
    const auto d_after = drawn(rows * hidden, 6);
    const auto earlier = drawn(rows * hidden, 7);
    auto d_before = earlier;
    std::vector<float> d_recurrent(rows * 3 * hidden);
    k.gru_backward(spent.step(), {d_after.data(), d_recurrent.data(), d_before.data()});
    for (std::size_t i = 0; i < rows * hidden; ++i) {
      const auto at = i / hidden * 3 * hidden + i % hidden;
      const double r = given.gates[at];
      const double z = given.gates[at + hidden];
      const double n = given.gates[at + 2 * hidden];
      const double d = d_after[i];
      const double d_n = d * (1 - z) * (1 - n * n);
      const double d_r = d_n * static_cast<double>(given.candidate[i]) * r * (1 - r);
      const double d_z = d * (static_cast<double>(given.before[i]) - n) * z * (1 - z);
      close(spent.gates[at], d_r);
      close(spent.gates[at + hidden], d_z);
      close(spent.gates[at + 2 * hidden], d_n);
      close(d_recurrent[at], d_r);
      close(d_recurrent[at + hidden], d_z);
      close(d_recurrent[at + 2 * hidden], d_n * r);
      close(d_before[i], static_cast<double>(earlier[i]) + d * z);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
