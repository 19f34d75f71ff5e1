// The gates of a gated recurrent unit, one time step at a time (see kernels.hpp and models/layers/gru.hpp).
#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"

namespace furlong::models::FURLONG_LEVEL {

void gru_forward(const gru_step& step) {
  const auto h = step.hidden;
  for (std::size_t row = 0; row < step.rows; ++row) {
    float* gates = step.gates + row * 3 * h;
    const float* recurrent = step.recurrent + row * 3 * h;
    const float* before = step.before + row * h;
    float* candidate = step.candidate + row * h;
    float* after = step.after + row * h;
    each_pack(h, [&](std::size_t i, const auto& access) {
      const auto from_input = [&](std::size_t j) {
        return add(access.read(gates + j), access.read(step.bias_input + j));
      };
      const auto from_state = [&](std::size_t j) {
        return add(access.read(recurrent + j), access.read(step.bias_recurrent + j));
      };
      const pack r = sigmoid(add(from_input(i), from_state(i)));
      const pack z = sigmoid(add(from_input(h + i), from_state(h + i)));
      const pack state = from_state(2 * h + i);
      const pack n = tangent(times_add(r, state, from_input(2 * h + i)));
      access.write(gates + i, r);
      access.write(gates + h + i, z);
      access.write(gates + 2 * h + i, n);
      access.write(candidate + i, state);
      access.write(after + i, times_add(z, subtract(access.read(before + i), n), n));
    });
  }
}

void gru_backward(const gru_step& step, const gru_step_gradient& gradient) {
  const auto h = step.hidden;
  for (std::size_t row = 0; row < step.rows; ++row) {
    float* gates = step.gates + row * 3 * h;
    float* d_recurrent = gradient.recurrent + row * 3 * h;
    const float* before = step.before + row * h;
    const float* candidate = step.candidate + row * h;
    const float* d_after = gradient.after + row * h;
    float* d_before = gradient.before == nullptr ? nullptr : gradient.before + row * h;
    each_pack(h, [&](std::size_t i, const auto& access) {
      const pack r = access.read(gates + i);
      const pack z = access.read(gates + h + i);
      const pack n = access.read(gates + 2 * h + i);
      const pack d = access.read(d_after + i);
      // Through tanh and the two sigmoids: their slopes are 1 - n^2, r (1 - r) and z (1 - z).
      const pack d_n = times(times(d, complement(z)), complement(times(n, n)));
      const pack d_r = times(times(d_n, access.read(candidate + i)), times(r, complement(r)));
      const pack d_z = times(times(d, subtract(access.read(before + i), n)), times(z, complement(z)));
      access.write(gates + i, d_r);
      access.write(gates + h + i, d_z);
      access.write(gates + 2 * h + i, d_n);
      access.write(d_recurrent + i, d_r);
      access.write(d_recurrent + h + i, d_z);
      access.write(d_recurrent + 2 * h + i, times(d_n, r));
      if (d_before != nullptr) access.write(d_before + i, times_add(d, z, access.read(d_before + i)));
    });
  }
}

}  // namespace furlong::models::FURLONG_LEVEL
