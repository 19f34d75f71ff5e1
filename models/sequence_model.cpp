#include "models/sequence_model.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

option_spec width_option(std::string name, std::int64_t fallback, std::string doc) {
  return integer_option(std::move(name), fallback, std::move(doc), {1, 16384});
}

std::uint32_t width_of(const option_values& options, std::string_view name) {
  return static_cast<std::uint32_t>(options.integer(name));
}

bool any_trained(const gradient_views& out, std::size_t first, std::size_t last) {
  return std::ranges::any_of(out.data.subspan(first, last - first), [](const float* to) { return to != nullptr; });
}

void zero_gradients(std::span<const tensor_view> weights, const gradient_views& out) {
  for (std::size_t t = 0; t < weights.size(); ++t)
    if (out.data[t] != nullptr) std::fill_n(out.data[t], weights[t].size(), 0.0F);
}

tensor_view last_rows(const packed_sequences& packed, const tensor_view& of, arena& memory) {
  const auto last = make_matrix(memory, packed.count(), of.cols);
  std::fill_n(last.data, last.size(), 0.0F);
  for (std::uint32_t step = 0; step < packed.steps(); ++step)  // the last step of a sequence remains
    std::copy_n(of.row(packed.begin[step]), std::size_t{packed.active[step]} * of.cols, last.data);
  return last;
}

}  // namespace furlong::models
