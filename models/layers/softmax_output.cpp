#include "models/layers/softmax_output.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

/// Logits of a block, 16 MiB: they stay in the last-level cache, and each weight that a product fetches serves so many
/// rows that packing it hardly counts.
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
  const std::size_t classes = w.weight.rows;
  const auto most = block_rows(h.rows, classes);
  const auto room = make_matrix(memory, most, classes);
  for (std::size_t first = 0; first < h.rows; first += most) {
    const auto logits = rows_of(room, 0, std::min(most, h.rows - first));
    multiply_nt(rows_of(h, first, logits.rows), w.weight, logits);
    work(first, logits);
  }
}

}  // namespace

double softmax_output_gradient(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                               const dense_gradient& to, const tensor_view& d_h, arena& memory) {
  const auto classes = w.weight.rows;
  if (to.bias != nullptr) std::fill_n(to.bias, classes, 0.0F);
  double loss = 0.0;
  each_block(w, h, memory, [&](std::size_t first, const tensor_view& logits) {
    loss += kernels().softmax_gradient({logits.data, logits.rows, classes, w.bias, targets.data() + first},
                                       1.0F / static_cast<float>(h.rows), to.bias);
    const auto& d_logits = logits;
    if (to.weight != nullptr)
      multiply_tn(d_logits, rows_of(h, first, logits.rows), {to.weight, w.weight.rows, w.weight.cols}, first > 0);
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
