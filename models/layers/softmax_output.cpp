#include "models/layers/softmax_output.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

/// Logits of a block, 16 MiB: they stay in the last-level cache, and each weight that a product fetches serves so many
/// rows that packing it does not count. A quarter of it costs 8 % of the speed of training (bench/lm.cpp).
constexpr std::size_t block_floats = std::size_t{1} << 22;

/// Cuts n rows into equal blocks: rows of each but the last.
std::size_t block_rows(std::size_t n, std::size_t classes) {
  const std::size_t most = std::max<std::size_t>(block_floats / classes, 16);
  const std::size_t blocks = (n + most - 1) / most;
  return (n + blocks - 1) / blocks;
}

/// Calls work(first row, its logits without bias) block by block.
template <class Work>
void each_block(const dense_weights& w, const tensor_view& h, arena& memory, const Work& work) {
  if (h.rows == 0) return;
  const std::size_t in = w.weight.cols;
  const std::size_t classes = w.weight.rows;
  const auto most = block_rows(h.rows, classes);
  const auto room = make_matrix(memory, most, classes);
  auto* packed = memory.floats(packed_floats(in, classes)).data();
  kernels().pack_right(w.weight.data, in, true, in, classes, packed);
  for (std::size_t first = 0; first < h.rows; first += most) {
    const auto logits = rows_of(room, 0, std::min(most, h.rows - first));
    kernels().multiply_packed({h.row(first), in, false, packed, logits.data, classes, logits.rows, classes, in, false});
    work(first, logits);
  }
}

/// d_weight = d_logits' h, or += that. The states are the smaller operand by far: they are packed.
void multiply_states(const tensor_view& d_logits, const tensor_view& h, float* packed, float* d_weight,
                     bool accumulate) {
  kernels().pack_right(h.data, h.cols, false, h.rows, h.cols, packed);
  kernels().multiply_packed(
      {d_logits.data, d_logits.cols, true, packed, d_weight, h.cols, d_logits.cols, h.cols, h.rows, accumulate});
}

}  // namespace

double softmax_output_gradient(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                               const dense_gradient& to, const tensor_view& d_h, arena& memory) {
  const auto classes = w.weight.rows;
  auto* packed_states = memory.floats(packed_floats(block_rows(h.rows, classes), h.cols)).data();
  if (to.bias != nullptr) std::fill_n(to.bias, classes, 0.0F);
  double loss = 0.0;
  each_block(w, h, memory, [&](std::size_t first, const tensor_view& logits) {
    loss += kernels().softmax_gradient({logits.data, logits.rows, classes, w.bias, targets.data() + first},
                                       1.0F / static_cast<float>(h.rows), to.bias);
    const auto& d_logits = logits;
    if (to.weight != nullptr)
      multiply_states(d_logits, rows_of(h, first, logits.rows), packed_states, to.weight, first > 0);
    if (d_h.data != nullptr) multiply_nn(d_logits, w.weight, rows_of(d_h, first, logits.rows));
  });
  return loss / h.rows;
}

double softmax_output_score(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                            std::span<std::uint32_t> likeliest, arena& memory) {
  double loss = 0.0;
  each_block(w, h, memory, [&](std::size_t first, const tensor_view& logits) {
    loss += kernels().softmax_score({logits.data, logits.rows, w.weight.rows, w.bias, targets.data() + first},
                                    likeliest.data() + first);
  });
  return loss;
}

}  // namespace furlong::models
