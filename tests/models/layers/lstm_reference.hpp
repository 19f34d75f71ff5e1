// LSTMs in double precision, one sequence and one unit at a time: what the layers are compared with, and what finite
// differences are taken of.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "models/layers/packed_sequences.hpp"

namespace furlong::tests {

/// Weights as the layer has them (rows of the gates i, f, g, o), widened.
struct reference_lstm {
  std::size_t inputs;
  std::size_t hidden;
  std::vector<double> input;      ///< 4 hidden x inputs
  std::vector<double> recurrent;  ///< 4 hidden x hidden
  std::vector<double> bias;       ///< 4 hidden
};

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// h of the sequence whose elements stand in these rows of x, in this order, written to columns first, first + 1, ...
/// of the same rows of `out`.
inline void run(const reference_lstm& of, const std::vector<std::uint32_t>& rows, const std::vector<double>& x,
                std::vector<double>& out, std::size_t out_cols, std::size_t first) {
  std::vector<double> h(of.hidden);
  std::vector<double> c(of.hidden);
  for (const auto row : rows) {
    std::vector<double> gates = of.bias;
    for (std::size_t g = 0; g < gates.size(); ++g) {
      for (std::size_t k = 0; k < of.inputs; ++k) gates[g] += of.input[g * of.inputs + k] * x[row * of.inputs + k];
      for (std::size_t k = 0; k < of.hidden; ++k) gates[g] += of.recurrent[g * of.hidden + k] * h[k];
    }
    for (std::size_t k = 0; k < of.hidden; ++k) {
      c[k] = sigmoid(gates[of.hidden + k]) * c[k] + sigmoid(gates[k]) * std::tanh(gates[2 * of.hidden + k]);
      h[k] = sigmoid(gates[3 * of.hidden + k]) * std::tanh(c[k]);
      out[row * out_cols + first + k] = h[k];
    }
  }
}

/// The rows of the sequence at a place, in order.
inline std::vector<std::uint32_t> rows_of(const models::packed_sequences& packing, std::uint32_t place) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t step = 0; step < packing.steps() && packing.active[step] > place; ++step)
    rows.push_back(packing.row(place, step));
  return rows;
}

}  // namespace furlong::tests
