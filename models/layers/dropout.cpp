#include "models/layers/dropout.hpp"

namespace furlong::models {

void draw_dropout(random_stream& noise, float rate, std::span<float> mask) {
  const float kept = 1.0F / (1.0F - rate);
  for (auto& factor : mask) factor = noise.uniform() < rate ? 0.0F : kept;
}

void drop(std::span<const float> mask, float* values) {
  for (std::size_t i = 0; i < mask.size(); ++i) values[i] *= mask[i];
}

std::span<const float> drop_by(random_stream* noise, float rate, const tensor_view& values, arena& memory) {
  if (noise == nullptr || rate == 0.0F) return {};
  const auto mask = memory.floats(values.size());
  draw_dropout(*noise, rate, mask);
  drop(mask, values.data);
  return mask;
}

}  // namespace furlong::models
