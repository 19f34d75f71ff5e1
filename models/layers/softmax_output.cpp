#include "models/layers/softmax_output.hpp"

#include <algorithm>

#include "base/exact_math.hpp"
#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

/// Logits of a block, 16 MiB: they stay in the last-level cache, and each fetched weight is used for so many rows that
/// packing it is cheap.
constexpr std::size_t block_floats = std::size_t{1} << 22;

/// Splits n rows into equal blocks: the rows of each except the last.
std::size_t block_rows(std::size_t n, std::size_t classes) {
  const std::size_t most = std::max<std::size_t>(block_floats / classes, 16);
  const std::size_t blocks = (n + most - 1) / most;
  return (n + blocks - 1) / blocks;
}

/// Logits of `rows` rows, which begin on cache lines, because a vector across two of them is written twice. A row has
/// an odd number of lines, so that a column of the logits is spread over the sets of the cache.
struct logits_block {
  float* data;
  std::size_t stride;
  std::size_t rows;
  std::size_t classes;
};

logits_block make_block(arena& memory, std::size_t rows, std::size_t classes) {
  constexpr std::size_t line = 16;  // floats
  const std::size_t stride = ((classes + line - 1) / line | 1) * line;
  return {memory.floats(rows * stride).data(), stride, rows, classes};
}

/// Calls work(first row, its logits without bias) block by block.
template <class Work>
void each_block(const dense_weights& w, const tensor_view& h, arena& memory, const Work& work) {
  if (h.rows == 0) return;
  const std::size_t classes = w.weight.rows;
  const auto most = block_rows(h.rows, classes);
  auto logits = make_block(memory, most, classes);
  for (std::size_t first = 0; first < h.rows; first += most) {
    logits.rows = std::min(most, h.rows - first);
    kernels().multiply({h.row(first), h.cols, false, w.weight.data, w.weight.cols, true, logits.data, logits.stride,
                        logits.rows, classes, h.cols, false});
    work(first, logits);
  }
}

softmax_rows softmax_of(const logits_block& logits, const float* bias, std::span<const std::uint32_t> targets) {
  return {logits.data, logits.stride, logits.rows, logits.classes, bias, targets.data()};
}

/// to = d_logits' h, or to += that.
void weight_gradient(const logits_block& d_logits, const tensor_view& h, float* target, bool accumulate) {
  kernels().multiply({d_logits.data, d_logits.stride, true, h.data, h.cols, false, target, h.cols, d_logits.classes,
                      h.cols, d_logits.rows, accumulate});
}

/// d_h = d_logits W.
void input_gradient(const logits_block& d_logits, const tensor_view& weight, const tensor_view& d_h) {
  kernels().multiply({d_logits.data, d_logits.stride, false, weight.data, weight.cols, false, d_h.data, d_h.cols,
                      d_logits.rows, weight.cols, d_logits.classes, false});
}

}  // namespace

double softmax_output_gradient(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                               const dense_gradient& gradient, const tensor_view& d_h, arena& memory) {
  if (gradient.bias != nullptr) std::fill_n(gradient.bias, w.weight.rows, 0.0F);
  const float scale = 1.0F / static_cast<float>(h.rows);
  double loss = 0.0;
  each_block(w, h, memory, [&](std::size_t first, const logits_block& logits) {
    loss += kernels().softmax_gradient(softmax_of(logits, w.bias, targets.subspan(first)), scale, gradient.bias);
    const auto& d_logits = logits;
    const auto input = rows_of(h, first, logits.rows);
    if (gradient.weight != nullptr) weight_gradient(d_logits, input, gradient.weight, first > 0);
    if (d_h.data != nullptr) input_gradient(d_logits, w.weight, rows_of(d_h, first, logits.rows));
  });
  return loss / h.rows;
}

double softmax_output_score(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                            std::span<std::uint32_t> likeliest, arena& memory) {
  double loss = 0.0;
  each_block(w, h, memory, [&](std::size_t first, const logits_block& logits) {
    loss += kernels().softmax_score(softmax_of(logits, w.bias, targets.subspan(first)), likeliest.data() + first);
  });
  return loss;
}

void softmax_output_probabilities(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> order,
                                  std::span<float> out, arena& memory) {
  each_block(w, h, memory, [&](std::size_t first, const logits_block& logits) {
    for (std::size_t row = 0; row < logits.rows; ++row) {
      const std::span<float> values(logits.data + row * logits.stride, logits.classes);
      if (w.bias != nullptr)
        for (std::size_t c = 0; c < values.size(); ++c) values[c] += w.bias[c];
      const float most = *std::ranges::max_element(values);
      const auto probabilities = out.subspan(std::size_t{order[first + row]} * logits.classes, logits.classes);
      double sum = 0.0;
      for (std::size_t c = 0; c < values.size(); ++c)
        sum += probabilities[c] = static_cast<float>(exact::exp(double{values[c]} - double{most}));
      for (auto& probability : probabilities) probability = static_cast<float>(probability / sum);
    }
  });
}

}  // namespace furlong::models
