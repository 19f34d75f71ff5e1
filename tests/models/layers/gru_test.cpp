#include "models/layers/gru.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/models/drawn.hpp"
#include "tests/models/layers/gru_reference.hpp"
#include "tests/models/layers/slopes.hpp"

BOOST_AUTO_TEST_SUITE(gru_layer)

using namespace furlong;
using namespace furlong::models;
using tests::drawn;

namespace {

/// A layer with everything that it reads.
struct layer {
  std::uint32_t in;
  std::uint32_t hidden;
  packed_sequences packed;
  std::vector<float> input, recurrent, bias_input, bias_recurrent, x;

  layer(std::uint32_t width, std::uint32_t units, const std::vector<std::uint32_t>& lengths)
      : in(width),
        hidden(units),
        input(drawn(std::size_t{3} * units * width, 1)),
        recurrent(drawn(std::size_t{3} * units * units, 2)),
        bias_input(drawn(std::size_t{3} * units, 3)),
        bias_recurrent(drawn(std::size_t{3} * units, 4)) {
    pack(lengths, packed);
    x = drawn(std::size_t{packed.rows()} * width, 5);
  }

  gru_weights weights() {
    return {{input.data(), 3 * hidden, in},
            {recurrent.data(), 3 * hidden, hidden},
            bias_input.data(),
            bias_recurrent.data()};
  }
  tensor_view inputs() { return {x.data(), packed.rows(), in}; }
};

/// The states of one sequence, step by step in double.
std::vector<std::vector<double>> reference(const layer& of, std::uint32_t place, std::uint32_t length) {
  const auto wide = [](const std::vector<float>& from) { return std::vector<double>(from.begin(), from.end()); };
  std::vector<std::vector<double>> x;
  for (std::uint32_t t = 0; t < length; ++t) {
    const auto from = of.x.begin() + static_cast<long>(of.packed.row(place, t)) * of.in;
    x.emplace_back(from, from + of.in);
  }
  return tests::run(
      {of.in, of.hidden, wide(of.input), wide(of.recurrent), wide(of.bias_input), wide(of.bias_recurrent)}, x);
}

}  // namespace

BOOST_AUTO_TEST_CASE(states_follow_the_equations_whatever_the_other_sequences_lengths) {
  const std::vector<std::uint32_t> lengths{2, 7, 1, 4, 4};
  layer one(5, 19, lengths);
  arena memory;
  const auto states = gru_forward(one.weights(), one.packed, one.inputs(), memory);
  for (std::uint32_t place = 0; place < lengths.size(); ++place) {
    const auto length = lengths[one.packed.order[place]];
    const auto expected = reference(one, place, length);
    for (std::uint32_t t = 0; t < length; ++t)
      for (std::uint32_t i = 0; i < one.hidden; ++i)
        BOOST_TEST(std::abs(static_cast<double>(states.after.row(one.packed.row(place, t))[i]) - expected[t][i]) <
                   4e-6);
  }
}

BOOST_AUTO_TEST_CASE(every_gradient_is_a_slope) {
  for (const auto& lengths : {std::vector<std::uint32_t>{1}, {3, 5, 1}, {2, 2, 2, 2}}) {
    layer one(3, 4, lengths);
    const auto factors = drawn(std::size_t{one.packed.rows()} * one.hidden, 6);
    arena memory;
    const auto loss = [&] {
      memory.clear();
      return tests::weighted_sum(factors, gru_forward(one.weights(), one.packed, one.inputs(), memory).after.data);
    };
    // What is not written must not be read: gradients start as NaN.
    const auto nan = [](const std::vector<float>& like) { return std::vector<float>(like.size(), std::nanf("")); };
    auto d_input = nan(one.input);
    auto d_recurrent = nan(one.recurrent);
    auto d_bias_input = nan(one.bias_input);
    auto d_bias_recurrent = nan(one.bias_recurrent);
    auto d_x = nan(one.x);
    auto d_after = factors;
    const auto states = gru_forward(one.weights(), one.packed, one.inputs(), memory);
    gru_backward(one.weights(), one.packed, one.inputs(), states, {d_after.data(), one.packed.rows(), one.hidden},
                 {d_input.data(), d_recurrent.data(), d_bias_input.data(), d_bias_recurrent.data()},
                 {d_x.data(), one.packed.rows(), one.in}, memory);
    tests::check_slopes("input", one.input, d_input, loss);
    tests::check_slopes("recurrent", one.recurrent, d_recurrent, loss);
    tests::check_slopes("bias_input", one.bias_input, d_bias_input, loss);
    tests::check_slopes("bias_recurrent", one.bias_recurrent, d_bias_recurrent, loss);
    tests::check_slopes("x", one.x, d_x, loss);
  }
}

BOOST_AUTO_TEST_SUITE_END()
