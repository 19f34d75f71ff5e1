// The gates of long short-term memory, one time step at a time (see kernels.hpp and models/layers/lstm.hpp).
#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"

namespace furlong::models::FURLONG_LEVEL {

void lstm_forward(const lstm_step& step) {
  const auto h = step.hidden;
  for (std::size_t row = 0; row < step.rows; ++row) {
    float* gates = step.gates + row * 4 * h;
    const float* before = step.before + row * h;
    float* cell = step.cell + row * h;
    float* squashed = step.squashed + row * h;
    float* after = step.after + row * h;
    each_pack(h, [&](std::size_t k, const auto& access) {
      const auto sum = [&](std::size_t j) { return add(access.read(gates + j), access.read(step.bias + j)); };
      const pack i = sigmoid(sum(k));
      const pack f = sigmoid(sum(h + k));
      const pack g = tangent(sum(2 * h + k));
      const pack o = sigmoid(sum(3 * h + k));
      const pack c = times_add(f, access.read(before + k), times(i, g));
      const pack t = tangent(c);
      access.write(gates + k, i);
      access.write(gates + h + k, f);
      access.write(gates + 2 * h + k, g);
      access.write(gates + 3 * h + k, o);
      access.write(cell + k, c);
      access.write(squashed + k, t);
      access.write(after + k, times(o, t));
    });
  }
}

void lstm_backward(const lstm_step& step, const float* d_after, float* d_cell) {
  const auto h = step.hidden;
  for (std::size_t row = 0; row < step.rows; ++row) {
    float* gates = step.gates + row * 4 * h;
    const float* before = step.before + row * h;
    const float* squashed = step.squashed + row * h;
    const float* d_h = d_after + row * h;
    float* d_c = d_cell + row * h;
    each_pack(h, [&](std::size_t k, const auto& access) {
      const pack i = access.read(gates + k);
      const pack f = access.read(gates + h + k);
      const pack g = access.read(gates + 2 * h + k);
      const pack o = access.read(gates + 3 * h + k);
      const pack t = access.read(squashed + k);
      const pack d = access.read(d_h + k);
      // Slopes of tanh and sigmoid: 1 - t^2 and s (1 - s).
      const pack d_cell_now = times_add(times(d, o), complement(times(t, t)), access.read(d_c + k));
      access.write(gates + k, times(times(d_cell_now, g), times(i, complement(i))));
      access.write(gates + h + k, times(times(d_cell_now, access.read(before + k)), times(f, complement(f))));
      access.write(gates + 2 * h + k, times(times(d_cell_now, i), complement(times(g, g))));
      access.write(gates + 3 * h + k, times(times(d, t), times(o, complement(o))));
      access.write(d_c + k, times(d_cell_now, f));
    });
  }
}

}  // namespace furlong::models::FURLONG_LEVEL
