// A GRU in double precision, one sequence and one unit at a time: what the layer and models of it are compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace furlong::tests {

/// Weights as the layer has them (rows of the gates r, z, n), widened.
struct reference_gru {
  std::size_t inputs;
  std::size_t hidden;
  std::vector<double> input;           ///< 3 hidden x inputs
  std::vector<double> recurrent;       ///< 3 hidden x hidden
  std::vector<double> bias_input;      ///< 3 hidden
  std::vector<double> bias_recurrent;  ///< 3 hidden
};

/// The states after each element of the sequence x.
inline std::vector<std::vector<double>> run(const reference_gru& of, const std::vector<std::vector<double>>& x) {
  const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
  const auto sum = [](double start, const std::vector<double>& matrix, std::size_t row, const std::vector<double>& by) {
    for (std::size_t j = 0; j < by.size(); ++j) start += matrix[row * by.size() + j] * by[j];
    return start;
  };
  std::vector<std::vector<double>> all;
  std::vector<double> h(of.hidden, 0.0);
  for (const auto& element : x) {
    const auto from_input = [&](std::size_t gate) { return sum(of.bias_input[gate], of.input, gate, element); };
    const auto from_state = [&](std::size_t gate) { return sum(of.bias_recurrent[gate], of.recurrent, gate, h); };
    auto next = h;
    for (std::size_t i = 0; i < of.hidden; ++i) {
      const double r = sigmoid(from_input(i) + from_state(i));
      const double z = sigmoid(from_input(of.hidden + i) + from_state(of.hidden + i));
      const double n = std::tanh(from_input(2 * of.hidden + i) + r * from_state(2 * of.hidden + i));
      next[i] = (1 - z) * n + z * h[i];
    }
    h = next;
    all.push_back(h);
  }
  return all;
}

}  // namespace furlong::tests
