#include "models/layers/lstm.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>

#include "models/layers/bidirectional.hpp"
#include "tests/models/drawn.hpp"
#include "tests/models/layers/lstm_reference.hpp"

BOOST_AUTO_TEST_SUITE(lstm_layers)

using namespace furlong;
using tests::drawn;
using tests::reference_lstm;

namespace {

const std::vector<std::vector<std::uint32_t>> batches = {{1}, {4, 4, 4}, {2, 5, 1, 5, 3}, {7, 1, 1}};

/// One direction's weights and, after the backward pass, their gradients. What must be overwritten starts as NaN.
struct direction {
  std::size_t inputs;
  std::size_t hidden;
  std::vector<float> values[3];
  std::vector<float> gradients[3];

  direction(std::size_t in, std::size_t h, std::uint32_t part) : inputs(in), hidden(h) {
    const std::size_t sizes[] = {4 * h * in, 4 * h * h, 4 * h};
    for (std::uint32_t t = 0; t < 3; ++t) {
      values[t] = drawn(sizes[t], part + t);
      gradients[t].assign(sizes[t], std::numeric_limits<float>::quiet_NaN());
    }
  }
  models::lstm_weights weights() {
    const auto gates = static_cast<std::uint32_t>(4 * hidden);
    return {{values[0].data(), gates, static_cast<std::uint32_t>(inputs)},
            {values[1].data(), gates, static_cast<std::uint32_t>(hidden)},
            values[2].data()};
  }
  models::lstm_gradient targets() { return {gradients[0].data(), gradients[1].data(), gradients[2].data()}; }
  reference_lstm widened() const {
    const auto wide = [](const std::vector<float>& from) { return std::vector<double>(from.begin(), from.end()); };
    return {inputs, hidden, wide(values[0]), wide(values[1]), wide(values[2])};
  }
};

/// Outputs of all sequences in double: of one direction, or of both side by side.
std::vector<double> outputs(const models::packed_sequences& packing, const std::vector<double>& x,
                            const std::vector<reference_lstm>& directions) {
  const std::size_t hidden = directions[0].hidden;
  const std::size_t cols = hidden * directions.size();
  std::vector<double> out(packing.rows() * cols);
  for (std::uint32_t place = 0; place < packing.count(); ++place) {
    auto rows = tests::rows_of(packing, place);
    tests::run(directions[0], rows, x, out, cols, 0);
    if (directions.size() == 1) continue;
    std::ranges::reverse(rows);
    tests::run(directions[1], rows, x, out, cols, hidden);
  }
  return out;
}

models::tensor_view view(std::vector<float>& of, std::size_t cols) {
  return {of.data(), static_cast<std::uint32_t>(of.size() / cols), static_cast<std::uint32_t>(cols)};
}

void check_close(const float* ours, const std::vector<double>& expected, double tolerance, const char* what) {
  double largest = 1.0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i)
    BOOST_TEST(std::abs(ours[i] - expected[i]) <= tolerance * largest,
               what << "[" << i << "]: " << ours[i] << ", not " << expected[i]);
}

/// Central differences of loss() in each of the values.
std::vector<double> slopes(std::vector<double>& values, const std::function<double()>& loss) {
  constexpr double nudge = 1e-5;
  std::vector<double> all;
  for (auto& value : values) {
    const double at = value;
    value = at + nudge;
    const double above = loss();
    value = at - nudge;
    all.push_back((above - loss()) / (2 * nudge));
    value = at;
  }
  return all;
}

/// The layer's outputs, and gradients of the sum of its outputs times `d_outputs`, against the reference's.
void check(const models::packed_sequences& packing, const std::vector<float>& x, std::vector<direction*> directions,
           const float* ours, const std::vector<float>& d_outputs, const std::vector<float>& d_x) {
  std::vector<double> wide_x(x.begin(), x.end());
  std::vector<reference_lstm> references;
  for (const auto* one : directions) references.push_back(one->widened());
  check_close(ours, outputs(packing, wide_x, references), 2e-6, "output");
  const auto loss = [&] {
    const auto out = outputs(packing, wide_x, references);
    double sum = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * static_cast<double>(d_outputs[i]);
    return sum;
  };
  check_close(d_x.data(), slopes(wide_x, loss), 1e-5, "gradient of x");
  for (std::size_t d = 0; d < directions.size(); ++d) {
    check_close(directions[d]->gradients[0].data(), slopes(references[d].input, loss), 1e-5, "gradient of input");
    check_close(directions[d]->gradients[1].data(), slopes(references[d].recurrent, loss), 1e-5,
                "gradient of recurrent");
    check_close(directions[d]->gradients[2].data(), slopes(references[d].bias, loss), 1e-5, "gradient of bias");
  }
}

template <class Work>
void for_each_batch(const Work& work) {
  for (const auto& lengths : batches)
    for (const std::size_t hidden : {1U, 3U, 17U}) {
      models::packed_sequences packing;
      models::pack(lengths, packing);
      BOOST_TEST_CONTEXT(lengths.size() << " sequences, " << packing.rows() << " rows, hidden " << hidden) {
        work(packing, hidden);
      }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_lstm_and_its_gradients_are_those_of_the_equations) {
  constexpr std::size_t inputs = 5;
  for_each_batch([](const models::packed_sequences& packing, std::size_t hidden) {
    direction one(inputs, hidden, 1);
    auto x = drawn(packing.rows() * inputs, 10);
    const auto d_outputs = drawn(packing.rows() * hidden, 11);
    std::vector<float> d_x(x.size(), std::numeric_limits<float>::quiet_NaN());
    models::arena memory;
    const auto states = models::lstm_forward(one.weights(), packing, view(x, inputs), memory);
    auto d_after = d_outputs;
    models::lstm_backward(one.weights(), packing, view(x, inputs), states, view(d_after, hidden), one.targets(),
                          view(d_x, inputs), memory);
    check(packing, x, {&one}, states.after.data, d_outputs, d_x);
  });
}

BOOST_AUTO_TEST_CASE(a_bidirectional_lstm_reads_each_sequence_from_both_of_its_ends) {
  constexpr std::size_t inputs = 4;
  for_each_batch([](const models::packed_sequences& packing, std::size_t hidden) {
    direction forward(inputs, hidden, 1);
    direction backward(inputs, hidden, 4);
    const models::blstm_weights weights{forward.weights(), backward.weights()};
    auto x = drawn(packing.rows() * inputs, 10);
    auto d_outputs = drawn(packing.rows() * 2 * hidden, 11);
    std::vector<float> d_x(x.size(), std::numeric_limits<float>::quiet_NaN());
    models::arena memory;
    const auto states = models::blstm_forward(weights, packing, view(x, inputs), memory);
    models::blstm_backward(weights, packing, view(x, inputs), states, view(d_outputs, 2 * hidden),
                           {forward.targets(), backward.targets()}, view(d_x, inputs), memory);
    check(packing, x, {&forward, &backward}, states.after.data, d_outputs, d_x);
  });
}

BOOST_AUTO_TEST_CASE(gradients_that_nobody_wants_change_nothing_for_the_others) {
  models::packed_sequences packing;
  models::pack(batches[2], packing);
  direction all(4, 3, 1);
  auto x = drawn(packing.rows() * 4, 10);
  const auto d_outputs = drawn(packing.rows() * 3, 11);
  models::arena memory;
  const auto go_back = [&](direction& of, const models::lstm_gradient& targets) {
    const auto states = models::lstm_forward(of.weights(), packing, view(x, 4), memory);
    auto d_after = d_outputs;
    models::lstm_backward(of.weights(), packing, view(x, 4), states, view(d_after, 3), targets, {}, memory);
  };
  go_back(all, all.targets());
  for (std::size_t wanted = 0; wanted < 3; ++wanted) {
    direction one(4, 3, 1);
    models::lstm_gradient targets;
    (wanted == 0 ? targets.input : wanted == 1 ? targets.recurrent : targets.bias) = one.gradients[wanted].data();
    go_back(one, targets);
    BOOST_TEST(one.gradients[wanted] == all.gradients[wanted], boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
