#include "models/layers/pooling.hpp"

#include <algorithm>

namespace furlong::models {

namespace {

/// Calls visit(place, row) with the last row of every sequence.
template <class Visit>
void each_last_row(const packed_sequences& packed, const Visit& visit) {
  for (std::uint32_t step = 0; step < packed.steps(); ++step) {
    const std::uint32_t going_on = step + 1 < packed.steps() ? packed.active[step + 1] : 0;
    for (std::uint32_t place = going_on; place < packed.active[step]; ++place) visit(place, packed.row(place, step));
  }
}

}  // namespace

void max_over_steps(const packed_sequences& packed, const tensor_view& x, const tensor_view& out,
                    std::span<std::uint32_t> sources) {
  std::copy_n(x.data, out.size(), out.data);  // the rows of the first step are the places
  for (std::uint32_t place = 0; place < packed.count(); ++place)
    std::ranges::fill(sources.subspan(std::size_t{place} * x.cols, x.cols), place);
  for (std::uint32_t step = 1; step < packed.steps(); ++step)
    for (std::uint32_t place = 0; place < packed.active[step]; ++place) {
      const std::uint32_t row = packed.row(place, step);
      const float* candidate = x.row(row);
      float* best = out.row(place);
      std::uint32_t* where = sources.data() + std::size_t{place} * x.cols;
      for (std::size_t k = 0; k < x.cols; ++k) {
        const bool larger = candidate[k] > best[k];
        best[k] = larger ? candidate[k] : best[k];
        where[k] = larger ? row : where[k];
      }
    }
}

void max_over_steps_backward(const tensor_view& d_out, std::span<const std::uint32_t> sources, const tensor_view& d_x) {
  std::fill_n(d_x.data, d_x.size(), 0.0F);
  for (std::size_t i = 0; i < sources.size(); ++i) d_x.row(sources[i])[i % d_x.cols] = d_out.data[i];
}

void last_states(const packed_sequences& packed, const tensor_view& x, const tensor_view& out) {
  const std::size_t half = x.cols / 2;
  each_last_row(packed, [&](std::size_t place, std::size_t row) {
    std::copy_n(x.row(row), half, out.row(place));
    std::copy_n(x.row(place) + half, half, out.row(place) + half);  // row `place` is the first step's
  });
}

void last_states_backward(const packed_sequences& packed, const tensor_view& d_out, const tensor_view& d_x) {
  const std::size_t half = d_x.cols / 2;
  std::fill_n(d_x.data, d_x.size(), 0.0F);
  each_last_row(packed, [&](std::size_t place, std::size_t row) {
    std::copy_n(d_out.row(place), half, d_x.row(row));
    std::copy_n(d_out.row(place) + half, half, d_x.row(place) + half);
  });
}

}  // namespace furlong::models
